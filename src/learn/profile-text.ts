import type { ClauseId } from '../contract/clauses.ts'
import { documentedContract } from '../contract/documented.ts'
import { parseProfile } from '../contract/profile.ts'
import { promisesAny } from '../contract/promises.ts'
import { type Source, sourceOfValue } from '../contract/sources.ts'
import { plural } from '../lib/format.ts'
import { isObject } from '../lib/json.ts'
import { formatPico, parsePico } from '../lib/money.ts'
import { UsageError } from '../lib/usage-error.ts'
import { oneLine } from '../lib/visible.ts'
import { yamlComment, yamlFlow, yamlLines, yamlText } from '../lib/write-yaml.ts'
import type { Lesson } from './learn.ts'
import { detectPartial, type PartialService } from './partial-service.ts'
import type { Fact, Known, ValuePath } from './question.ts'

type LearnedValue = Extract<Fact, { readonly kind: 'value' }>

export type LearnedProfile = {
  readonly yaml: string
  /** What contradicts the document, one sentence each. */
  readonly differences: readonly string[]
}

/** The profile with everything that differs from the document, each value with its evidence. It always loads. */
export function learnedProfile({ findings, known, replies, spentPico }: Lesson, target: string): LearnedProfile {
  const partial = detectPartial(known)
  const all = [...(partial?.findings ?? []), ...findings]
  const learned = lastOfEach(all.flatMap(finding => (finding.kind === 'value' ? finding : [])))
  const promises = promisesOf(findings, known)
  const loadable = learned.filter(isLoadable)
  const rejected = learned
    .filter(each => !loadable.includes(each))
    .map(
      ({ path, evidence }): Fact => ({
        kind: 'unknown',
        path: path.join('.'),
        why: `its value is none that a profile can have (${evidence})`,
      }),
    )
  const written = loadable.filter(each => !isAsDocumented(each))
  const same = loadable.filter(isAsDocumented)
  const differences = differencesIn(findings, written, partial)
  const unknowns = [...findings, ...rejected].flatMap(finding =>
    finding.kind === 'unknown' ? [`${finding.path}: ${finding.why}`] : [],
  )
  const yaml = [
    ...yamlComment(`Learned from ${target} with ${replies.length} calls for at most $${formatPico(spentPico)}.`),
    ...yamlComment('What is not written here is as documented, or could not be told. Read it before you use it.'),
    ...list(
      'Differences from the document. Each is a promise that the target does not keep, unless you decide otherwise:',
      differences,
    ),
    ...list('Could not be told, or not for certain:', unknowns),
    ...(same.length === 0 ? [] : ['#', ...yamlComment(`As documented: ${namesOf(same).join(', ')}.`)]),
    `name: ${yamlText(`learned-${new URL(target).host.slice(0, maxName)}`)}`,
    ...promises,
    ...render(written.toSorted((a, b) => rankOf(a.path) - rankOf(b.path))),
    '',
  ].join('\n')
  parseProfile(yaml, 'the learned profile')
  return { yaml, differences }
}

const maxName = 100

/** The base credits of all networks under one name. */
function namesOf(learned: readonly LearnedValue[]): readonly string[] {
  const isNetwork = ({ path }: LearnedValue) => path[1] === 'networks'
  const networks = learned.filter(isNetwork).length
  const others = learned.filter(each => !isNetwork(each)).map(({ path }) => path.join('.'))
  return networks === 0 ? others : [...others, `the base credits of ${plural(networks, 'network')}`]
}

/** Of two findings about one value, the later one counts. */
const lastOfEach = (learned: readonly LearnedValue[]): readonly LearnedValue[] => [
  ...new Map(learned.map(each => [each.path.join('\n'), each])).values(),
]

/** What the target states may be no value of a profile. */
function isLoadable(learned: LearnedValue): boolean {
  try {
    parseProfile(['name: x', ...render([learned])].join('\n'), 'x')
    return true
  } catch (cause) {
    if (cause instanceof UsageError) return false
    throw cause
  }
}

function documentedAt(path: ValuePath): unknown {
  let at: unknown = documentedContract
  for (const key of path) at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  return at
}

const isAsDocumented = ({ path, value }: LearnedValue): boolean => same(value, documentedAt(path))

function same(a: unknown, b: unknown): boolean {
  if (typeof a === 'string' && typeof b === 'string')
    return a === b || (parsePico(a) !== null && parsePico(a) === parsePico(b))
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Values that belong to each target. The document has a neutral word, a default, or no unit for them. */
const ofEachTarget = ['headerPrefix', 'accounts', 'limits.requestsReset', 'errors.layout']

/** Values of an open group that a sentence of the document states. */
const statedAnyway = ['auth.noKey', 'billing.balanceHeaders', 'billing.balanceRemaining']

const sourceOf = (path: ValuePath): Source => {
  const at = path.join('.')
  if (statedAnyway.includes(at)) return 'document'
  return ofEachTarget.some(own => at === own || at.startsWith(`${own}.`))
    ? 'default'
    : sourceOfValue(documentedContract, at)
}

function differencesIn(
  findings: readonly Fact[],
  written: readonly LearnedValue[],
  partial: PartialService | null,
): readonly string[] {
  return [
    ...(partial === null ? [] : [`missing: it is ${partial.what}`]),
    ...findings.flatMap(finding => {
      if (finding.kind === 'missing') return partial === null ? `missing: ${finding.text} (${finding.evidence})` : []
      if (finding.kind !== 'difference' || !isPromised(finding.clause, partial)) return []
      return `${finding.clause}: ${finding.text} (${finding.evidence})`
    }),
    ...written
      .filter(({ path }) => partial === null && sourceOf(path) === 'document')
      .map(
        ({ path, value, evidence }) =>
          `${path.join('.')}: ${short(value)}, the document says ${short(documentedAt(path))} (${evidence})`,
      ),
  ].map(clipped)
}

const isPromised = (clause: string, partial: PartialService | null): boolean =>
  partial === null || promisesAny({ promises: partial }, [clause])

function promisesOf(findings: readonly Fact[], known: Known): readonly string[] {
  const partial = detectPartial(known)
  const broken = findings.flatMap((finding): readonly (ClauseId | string)[] => {
    if (finding.kind === 'missing') return partial === null ? finding.clauses : []
    return finding.kind === 'difference' && finding.always && isPromised(finding.clause, partial)
      ? [finding.clause]
      : []
  })
  const { only, except } = partial ?? { only: null, except: [] }
  const all = [...new Set([...except, ...broken])]
  if (only === null && all.length === 0) return []
  return [
    ...yamlComment(
      'The target does not keep these; see the differences above. Remove an entry to have its clause judged.',
    ),
    'promises:',
    ...(only === null ? [] : [`  only: ${yamlFlow(only)}`]),
    `  except: ${yamlFlow(all)}`,
  ]
}

const rankOf = ([key]: ValuePath): number => Object.keys(documentedContract).indexOf(key)

/** The values, each below its evidence. */
const render = (learned: readonly LearnedValue[]): readonly string[] =>
  yamlLines(learned.map(({ path, value, evidence }) => ({ path, value, comment: evidenceOf(path, evidence) })))

function evidenceOf(path: ValuePath, evidence: string): readonly string[] {
  const documented = documentedAt(path)
  const isSimple = documented !== undefined && !Array.isArray(documented)
  const mark = sourceOf(path) === 'document' ? 'DIFFERS FROM THE DOCUMENT: ' : ''
  return yamlComment(
    `${mark}${clipped(evidence)}.${isSimple ? ` Documented, or by default: ${short(documented)}.` : ''}`,
  )
}

const maxEvidence = 400
const clipped = (evidence: string): string => {
  const line = oneLine(evidence)
  return line.length > maxEvidence ? `${line.slice(0, maxEvidence - 3)}...` : line
}

const short = (each: unknown): string => {
  const json = JSON.stringify(each) ?? 'nothing'
  return json.length > 80 ? `${json.slice(0, 77)}...` : json
}

const list = (heading: string, items: readonly string[]): readonly string[] =>
  items.length === 0 ? [] : ['#', ...yamlComment(heading), ...items.flatMap(item => yamlComment(clipped(item), '- '))]
