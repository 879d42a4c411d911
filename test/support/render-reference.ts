import { parse, stringify } from 'yaml'
import { clauses } from '../../src/contract/clauses.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { probeNames, probeOf } from '../../src/contract/probes.ts'
import { isObject, type JsonObject, toObject } from '../../src/lib/json.ts'
import { scenarioJsonSchema } from '../../src/scenario/schema.ts'
import { operators, parseThreshold, type plainCounts, timingMeanings, timings } from '../../src/scenario/threshold.ts'
import {
  callExamples,
  fileExample,
  stageExamples,
  targetExample,
  thresholdExample,
  wholeExample,
} from './scenario-examples.ts'

/** A key of the scenario language. A step `<...>` of the path is a name that the scenario chooses. */
export type Key = {
  readonly path: readonly string[]
  /** What a value may be, as Markdown. */
  readonly type: string
  /** null: the key is required; empty: no default is known. */
  readonly byDefault: string | null
  readonly meaning: string
  readonly schema: JsonObject
}

/** Every key of a mapping, with those below it. A list of mappings counts as one of them. */
export function keysIn(schema: JsonObject, path: readonly string[] = []): readonly Key[] {
  const required = Array.isArray(schema.required) ? schema.required : []
  return Object.entries(toObject(schema.properties) ?? {}).flatMap(([name, value]) => {
    const at = [...path, name]
    const part = toObject(value) ?? {}
    const [meaning = '', stated] = String(part.description ?? '').split(/ ?Default: /)
    const inSchema = part.default === undefined ? '' : code(flow(part.default))
    const byDefault = required.includes(name) ? null : (stated?.replace(/\.$/, '') ?? inSchema)
    return [{ path: at, type: typeOf(part), byDefault, meaning, schema: part }, ...keysBelow(part, at)]
  })
}

function keysBelow(part: JsonObject, at: readonly string[]): readonly Key[] {
  const [items, free] = [toObject(part.items), toObject(part.additionalProperties)]
  if (items?.properties !== undefined) return keysIn(items, at)
  if (free?.properties !== undefined) return keysIn(free, [...at, '<call>'])
  return keysIn(part, at)
}

/** The variants of a list or a mapping whose members have a kind: its name, its schema. */
export function variantsOf(schema: JsonObject, tag: string): readonly (readonly [name: string, schema: JsonObject])[] {
  const members = toObject(schema.items) ?? toObject(schema.additionalProperties)
  const variants = Array.isArray(members?.oneOf) ? members.oneOf.filter(isObject) : []
  return variants.map(variant => [String(toObject(toObject(variant.properties)?.[tag])?.const), variant])
}

function typeOf(part: JsonObject): string {
  const { title, type, items, additionalProperties: members, minimum, maximum, exclusiveMinimum } = part
  if (part.const !== undefined) return code(String(part.const))
  if (Array.isArray(part.enum))
    return part.enum.length > 12
      ? '[the name of a probe](#probes)'
      : part.enum.map(each => code(String(each))).join(', ')
  if (typeof title === 'string') return `[${title}](#units)`
  if (type === 'integer') return `${count(minimum)} to ${count(maximum)}`
  if (type === 'number' && exclusiveMinimum !== undefined) return `above ${exclusiveMinimum}`
  if (type === 'number') return `a number from ${minimum} to ${maximum}`
  if (type === 'boolean') return '`true`, `false`'
  if (type === 'array') return toObject(items)?.type === 'string' ? 'a list of texts' : 'a list'
  if (type === 'object') return toObject(members)?.exclusiveMinimum === 0 ? 'names with weights' : 'a mapping'
  return 'text'
}

const count = (value: unknown): string => {
  const limit = Number(value)
  return limit === Number.MAX_SAFE_INTEGER ? '2⁵³ − 1' : limit.toLocaleString('en')
}

const code = (text: string): string => `\`${text}\``
const cell = (text: string): string => text.replaceAll('|', '\\|')
const flow = (value: unknown): string =>
  stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim().replace(/\s+/g, ' ')

/** The first value at a path of an example; undefined if the example does not show it. */
export function exampleAt(value: unknown, path: readonly string[]): unknown {
  const [step, ...rest] = path
  if (step === undefined) return value
  if (Array.isArray(value)) return value.map(each => exampleAt(each, path)).find(each => each !== undefined)
  if (!isObject(value)) return undefined
  if (step.startsWith('<')) return exampleAt(Object.values(value), rest)
  return Object.hasOwn(value, step) ? exampleAt(value[step], rest) : undefined
}

/** A longer one is easier to read in the YAML below. */
const maxExample = 70

function exampleLine(key: Key, examples: readonly unknown[]): string {
  const found = examples.map(each => exampleAt(each, key.path)).find(each => each !== undefined)
  if (found === undefined) return ''
  const line = `${key.path.at(-1)}: ${flow(found)}`
  return line.length > maxExample ? 'below' : code(line)
}

function keyTable(
  keys: readonly Key[],
  examples: readonly unknown[],
  pathOf = (key: Key) => key.path.join('.'),
): string {
  const rows = keys.map(key => [
    code(pathOf(key)),
    key.type,
    key.byDefault ?? '**required**',
    key.meaning,
    exampleLine(key, examples),
  ])
  return table(['Key', 'Value', 'Default', 'Meaning', 'Example'], rows)
}

const table = (titles: readonly string[], rows: readonly (readonly string[])[]): string =>
  [titles, titles.map(() => '---'), ...rows]
    .map(row => `| ${row.map(cell).join(' | ')} |`.replaceAll('|  |', '| |'))
    .join('\n')

const yaml = (text: string): string => `\`\`\`yaml\n${text}\`\`\``

const root = (): JsonObject => toObject(scenarioJsonSchema()) ?? {}
const propertyOf = (name: string): JsonObject => toObject(toObject(root().properties)?.[name]) ?? {}

/** Keys of the file outside of calls and stages. */
export const fileKeys = (): readonly Key[] => keysIn(root())
export const calls = () => variantsOf(propertyOf('calls'), 'kind')
export const stages = () => variantsOf(propertyOf('stages'), 'shape')
export const fileExamples: readonly unknown[] = [fileExample, targetExample].map(text => parse(text))

/** The calls or stages of an example that are of this variant. */
export const membersOf = (text: string, list: string, tag: string, name: string): readonly unknown[] =>
  Object.values(toObject(parse(text)[list]) ?? parse(text)[list]).filter(each => toObject(each)?.[tag] === name)

const introduction = `# Scenario reference

Every key, unit, shape, call, and measure of the scenario language. [Scenarios](scenarios.md) explains how to use them.

This page is generated from \`src/scenario/\`. To update it, run \`UPDATE_DOCS=1 npx vitest run test/docs.test.ts\`. A test
plans every example and runs the first one. \`turnpike schema\` prints the same descriptions as a JSON Schema, for editors.`

/** Renders docs/scenario-reference.md. */
export function renderReference(): string {
  return [
    introduction,
    '## A whole scenario',
    yaml(wholeExample),
    renderFile(),
    renderCalls(),
    renderStages(),
    renderThresholds(),
    renderProbes(),
    renderUnits(),
  ]
    .join('\n\n')
    .concat('\n')
}

function renderFile(): string {
  const keys = fileKeys()
  const nested = keys.filter(({ path }) => path.length > 1)
  return [
    '## The file',
    'A key that is not listed here is a mistake. YAML merge keys (`<<: *name`) work.',
    keyTable(
      keys.filter(({ path }) => path.length === 1),
      fileExamples,
    ),
    '### The keys below them',
    keyTable(nested, fileExamples),
    yaml(fileExample),
    'The command line (`--target`) usually names the service under test. A scenario may name one, too:',
    yaml(targetExample),
  ].join('\n\n')
}

function renderCalls(): string {
  const all = calls()
  const sections = all.flatMap(([name, schema]) => {
    const example = callExamples[name] ?? ''
    const keys = keysIn(schema).filter(({ path }) => path[0] !== 'kind')
    return [
      `### ${code(name)}`,
      String(schema.description),
      ...(keys.length === 0 ? ['It has no further key.'] : [keyTable(keys, membersOf(example, 'calls', 'kind', name))]),
      yaml(example),
    ]
  })
  const intro = `\`calls\` names what is sent. Each call has a \`kind\`: ${all.map(([name]) => code(name)).join(', ')}.`
  return ['## Calls', intro, ...sections].join('\n\n')
}

function renderStages(): string {
  const all = stages()
  const everyKey = all.map(([, schema]) => keysIn(schema))
  const [first = []] = everyKey
  const isCommon = ({ path, meaning }: Key) =>
    path[0] !== 'shape' &&
    everyKey.filter(keys => keys.some(key => key.path[0] === path[0] && key.meaning === meaning)).length > 2
  const common = first.filter(isCommon)
  const names = (key: Key) =>
    all.filter(
      (_, index) => !everyKey[index]?.some(each => each.path[0] === key.path[0] && each.meaning === key.meaning),
    )
  const commonTable = table(
    ['Key', 'Value', 'Default', 'Meaning', 'Not in', 'Example'],
    common.map(key => [
      code(key.path.join('.')),
      key.type,
      key.byDefault ?? '**required**',
      key.meaning,
      names(key)
        .map(([name]) => code(name))
        .join(', '),
      exampleLine(key, membersOf(stageExamples.constant ?? '', 'stages', 'shape', 'constant')),
    ]),
  )
  const sections = all.flatMap(([name, schema], index) => {
    const example = stageExamples[name] ?? ''
    const isOwn = (key: Key) =>
      key.path[0] !== 'shape' && !common.some(each => each.path[0] === key.path[0] && each.meaning === key.meaning)
    const own = (everyKey[index] ?? []).filter(isOwn)
    return [
      `### ${code(name)}`,
      String(schema.description),
      ...(own.length === 0 ? [] : [keyTable(own, membersOf(example, 'stages', 'shape', name))]),
      yaml(example),
    ]
  })
  return [
    '## Stages',
    `\`stages\` is a list. Each stage has a \`shape\`: ${all.map(([name]) => code(name)).join(', ')}. The examples use the calls of [the whole scenario](#a-whole-scenario).`,
    '### Keys of most stages',
    commonTable,
    ...sections,
  ].join('\n\n')
}

type CountName = (typeof plainCounts)[number]

/** A measure that is not a timing, with the section of docs/measurement.md that defines it, and an example. */
type Definition = readonly [meaning: string, section: string, example: string]

const counted = 'what-is-counted'
export const countDefinitions: Readonly<
  Record<CountName | 'status(429)' | 'capacity' | 'credits' | 'spend', Definition>
> = {
  sent: ['Requests sent.', counted, 'sent of chat in steady >= 100'],
  answered: ['Complete responses, of any status.', counted, 'answered of chat in steady > 99%'],
  good: ['Complete 2xx responses that met every SLO of their call.', counted, 'good of chat in steady > 0.5/s'],
  failed: ['Requests without a complete response.', counted, 'failed < 1%'],
  incomplete: [
    'Failed requests, except those whose connection broke before the first byte of a response.',
    counted,
    'incomplete == 0',
  ],
  dropped: ['Requests that were due and never sent.', counted, 'dropped in steady == 0'],
  blocked: ['Responses of the abuse block, of any status.', 'thresholds', 'blocked in steady == 0'],
  violations: ['Violations of clauses.', 'thresholds', 'violations == 0'],
  discrepancies: ['Differences between claimed costs and balances.', 'thresholds', 'discrepancies == 0'],
  'unexpected-429': ['Responses with 429 below the limit.', 'thresholds', 'unexpected-429 == 0'],
  'status(429)': ['Responses with this status, from 100 to 599.', counted, 'status(429) of chat in steady == 0'],
  capacity: [
    'The confirmed rate of a stage of shape `capacity`; with `of`, the part of one call.',
    'capacity',
    'capacity of chat in steady >= 50/s',
  ],
  credits: ['RPC credits that the responses claim.', 'thresholds', 'credits <= 5000'],
  spend: ['US dollars that the responses claim.', 'money', 'spend < $0.25'],
}

/** Bounds by their unit. A measure takes those that the grammar accepts. */
const bounds: readonly (readonly [unit: string, written: string])[] = [
  ['[duration](#units)', '400ms'],
  ['number', '0'],
  ['share', '1%'],
  ['rate per second', '5/s'],
  ['[dollars](#units)', '$0.25'],
]

export const isThreshold = (expression: string): boolean =>
  'measure' in parseThreshold(expression, ['chat'], ['steady'])

function renderThresholds(): string {
  /** What the grammar accepts after the measure: bounds, and selections. */
  const takenBy = (measure: string) => {
    const taken = bounds.filter(([, bound]) => isThreshold(`${measure} < ${bound}`))
    const [, bound = ''] = taken[0] ?? []
    const selects = ['of chat', 'in steady'].filter(part => isThreshold(`${measure} ${part} < ${bound}`))
    return [taken.map(([unit]) => unit).join(', '), selects.map(part => code(part.slice(0, 2))).join(', ') || 'neither']
  }
  const linked = (measure: string, section: string) => `[${code(measure)}](measurement.md#${section})`
  const isOfStreams = (timing: string) => !['latency', 'service-time', 'lateness'].includes(timing)
  return [
    '## Thresholds',
    'An `expect` is one condition: a measure, optionally `of` a call, optionally `in` a stage, an operator, and a bound.',
    yaml(thresholdExample),
    `Operators: ${operators.map(code).join(', ')}. Without \`of\` a threshold is about all calls, and without \`in\` about the whole run.`,
    '### Timings',
    'A timing needs an aggregate: `p(95)`, or any other percentile above 0 and below 100, `mean`, `min`, or `max`. A percentile needs [enough values](measurement.md#percentiles). A timing may also be a key of `slo`.',
    table(
      ['Measure', 'Bound', 'Takes', 'Calls', 'Meaning'],
      timings.map(timing => [
        linked(timing, 'timings'),
        ...takenBy(`p(95) ${timing}`),
        isOfStreams(timing) ? 'streamed chat' : 'every call',
        timingMeanings[timing],
      ]),
    ),
    '### Counts, rates and totals',
    'The bound decides what a count is: a number, a share of the requests, or a rate.',
    table(
      ['Measure', 'Bound', 'Takes', 'Meaning', 'Example'],
      Object.entries(countDefinitions).map(([name, [meaning, section, example]]) => [
        linked(name, section),
        ...takenBy(name),
        meaning,
        code(example),
      ]),
    ),
  ].join('\n\n')
}

/** Probes of one clause, one sender and one status share a row. */
function renderProbes(): string {
  const grouped = new Map<string, { readonly names: string[]; readonly about: readonly string[] }>()
  for (const name of probeNames) {
    const { clause, as, promised } = probeOf(name)
    const statuses = promised({ ...documentedContract, promises: { only: ['*'], except: [] } }).join(', ')
    const about = [as, statuses === '' ? 'open' : statuses, code(clause), clauses[clause].text]
    const { names } = grouped.get(about.join()) ?? { names: [] }
    grouped.set(about.join(), { names: [...names, name], about })
  }
  const rows = [...grouped.values()].map(({ names, about }) => [names.map(code).join(', '), ...about])
  return [
    '## Probes',
    'A probe is a crafted request. A `sequence` names it directly; a call of kind `probe` gives it a name of its own.',
    table(['Probes', 'Sent as', 'Documented status', 'Clause', 'Text'], rows),
  ].join('\n\n')
}

/** A unit, how it is written, and what that means. The title of a field in the schema is the name of its unit. */
export const units: readonly (readonly [unit: string, written: readonly string[], meaning: string])[] = [
  ['name', ['steady', 'chat-2'], 'Lower-case letters, digits and hyphens; the first is no hyphen; at most 64.'],
  [
    'duration',
    ['250ms', '5s', '1m30s', '2h'],
    'Hours, minutes, seconds and milliseconds, larger ones first, without spaces; at most 168h.',
  ],
  [
    'range',
    ['4', '2 to 6'],
    'A whole number; or both ends of a range, from which each is drawn with the same probability.',
  ],
  ['duration range', ['2s', '1s to 4s'], 'A duration, or both ends of a range to draw from; `0s` is allowed.'],
  [
    'rate',
    ['20/s', '20/m', '1000/h', '80% of tier'],
    'Arrivals of all callers together, at most 100,000/s. `100% of tier` is the largest rate at which, on average, no limit of any caller is exceeded; at most 10000% of tier.',
  ],
  [
    'burst size',
    ['20', '130% of tier'],
    'Arrivals at one instant: 1 to 1,000,000, or a share of the limit per window.',
  ],
  [
    'point of a response',
    ['headers', 'first-byte', '300ms', '5 tokens'],
    'When a client leaves: at the headers or the first byte of a success, after a time since it was sent, or after chunks with a token. [Clients that leave](hang-ups.md) says more.',
  ],
  [
    'read rate',
    ['20 tokens/s', '500 bytes/s'],
    'How fast a client reads: 0.1 to 1,000,000 chunks with a token, or bytes, per second.',
  ],
  ['share', ['99%', '2.5%'], 'A percentage.'],
  ['dollars', ['0.25', '$0.25'], 'US dollars, exact; above 0, at most 1,000,000.'],
  ['bytes', ['65536', '500kB', '2MiB'], 'Bytes; kB and MB count in thousands, KiB and MiB in 1,024s; at most 1024MiB.'],
]

function renderUnits(): string {
  const rows = units.map(([unit, written, meaning]) => [unit, written.map(code).join(', '), meaning])
  return ['## Units', table(['Unit', 'Written', 'Meaning'], rows)].join('\n\n')
}
