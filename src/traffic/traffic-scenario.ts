import { basename } from 'node:path'
import { formatDuration, plural } from '../lib/format.ts'
import { oneLine } from '../lib/visible.ts'
import { yamlComment, yamlText } from '../lib/write-yaml.ts'

/** The longest prompt and answer of a call, and the model that it was recorded with. */
export type CallLengths = { readonly model: string | null; readonly input: number; readonly output: number }

export type TrafficScenario = {
  readonly name: string
  /** The format of the traffic, such as `a Mooncake trace`, and its file. */
  readonly title: string
  readonly source: string
  /** The trace, relative to the scenario. */
  readonly trace: string
  readonly calls: ReadonlyMap<string, CallLengths>
  readonly requests: number
  readonly durationMs: number
  readonly speed: number
  readonly blockTokens: number
  readonly seed: number
  readonly keepsModels: boolean
}

/** The text of a scenario that repeats imported traffic. */
export function trafficScenario(traffic: TrafficScenario): string {
  const { name, title, source, trace, calls, requests, durationMs, speed, blockTokens, seed, keepsModels } = traffic
  const first = `${plural(requests, 'request')} in ${formatDuration(durationMs)}, from ${title}: ${oneLine(source)}.`
  // A request without a call belongs to the first one.
  const inOrder = [...calls].toSorted(([a], [b]) => Number(b === 'chat') - Number(a === 'chat'))
  const callLines = inOrder.flatMap(([call, { model, input, output }]) => {
    const named = model === null ? [] : keepsModels ? [`model: ${yamlText(model)}`] : []
    const comment = model === null || keepsModels ? [] : yamlComment(`Recorded with the model ${oneLine(model)}.`)
    const fields = ['kind: chat', ...named, `prompt-tokens: ${input}`, `max-completion-tokens: ${output}`]
    return [...comment.map(line => `  ${line}`), `  ${call}: { ${fields.join(', ')} }`]
  })
  return [
    '# yaml-language-server: $schema=../node_modules/turnpike/scenarios/scenario.schema.json',
    '#',
    ...yamlComment(first),
    ...yamlComment(
      'Written by "turnpike import". The trace beside it has the time, the lengths and the prefix of each.',
    ),
    `name: ${name}`,
    'question: Does the service serve recorded traffic?',
    `seed: ${seed}`,
    '# Requests of one session have one caller; others take turns. More callers have more limits.',
    'callers: { count: 1 }',
    '',
    'calls:',
    '  # The lengths are the longest; the trace has the lengths of each request.',
    ...callLines,
    '',
    'stages:',
    `  - { name: replay, shape: recorded, trace: ${yamlText(trace)}, block-tokens: ${blockTokens}, speed: ${speed} }`,
    '',
    '# Recorded traffic does not wait for answers.',
    'bounds: { max-in-flight: 4096 }',
    '',
    'thresholds:',
    '  - { expect: violations == 0, why: A client parses the responses by these rules. }',
    '  - { expect: failed <= 1%, why: Recorded traffic was answered; a few connections may break. }',
    '  - { expect: dropped == 0, why: Traffic that is not sent is not tested. }',
    '',
  ].join('\n')
}

/** The scenario of a file of traffic, unless another one is named: in this folder. */
export const scenarioFileFor = (traffic: string): string =>
  `${basename(traffic).replace(/\.(jsonl?|ndjson|csv|har)(\.gz)?$/i, '') || 'traffic'}.yaml`

/** The trace of a scenario, beside it. */
export const traceFileFor = (scenario: string): string => `${scenario.replace(/\.ya?ml$/, '')}.trace.jsonl`

/** The name of a scenario, after its file. */
export const scenarioNameFor = (scenario: string): string =>
  basename(scenario)
    .replace(/\.ya?ml$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 64)
    .replace(/^-|-$/g, '') || 'traffic'
