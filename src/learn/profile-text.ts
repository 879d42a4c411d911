import { documentedContract } from '../contract/documented.ts'
import { limiterAlgorithms } from '../contract/limit-headers/further-limits.ts'
import { retryAfterForms } from '../contract/limit-headers/limit-headers.ts'
import { parseProfile } from '../contract/profile.ts'
import { type Source, sourceOfValue } from '../contract/sources.ts'
import { plural } from '../lib/format.ts'
import { ownMember } from '../lib/json.ts'
import { formatPico, parsePico } from '../lib/money.ts'
import { oneLine } from '../lib/visible.ts'
import { yamlComment, yamlLines, yamlText } from '../lib/write-yaml.ts'
import type { Lesson } from './learn.ts'
import { type PartialService, promiseLines, promisesOf, valueAt, valuesIn } from './learned-contract.ts'
import type { Fact, LearnedValue, ValuePath } from './question.ts'

export type LearnedProfile = {
  readonly yaml: string
  /** What contradicts the document, one sentence each. */
  readonly differences: readonly string[]
}

/** The profile with everything that differs from the document, each value with its evidence. It always loads. */
export function learnedProfile({ findings, partial, replies, spentPico }: Lesson, target: string): LearnedProfile {
  const learned = valuesIn(findings)
  const written = learned.filter(each => !isAsDocumented(each))
  const same = learned.filter(isAsDocumented)
  const differences = differencesIn(findings, written, partial)
  const unknowns = findings.flatMap(finding =>
    finding.kind === 'unknown' ? [`${finding.path}: ${shortened(finding.why)}${toWrite(finding.path)}`] : [],
  )
  const yaml = [
    ...yamlComment(`Learned from ${target} with ${replies.length} calls for at most $${formatPico(spentPico)}.`),
    ...yamlComment(
      'Values that are not written here are as documented, or could not be determined. Read the file before you use it.',
    ),
    ...list(
      'Differences from the document. Each is a promise that the target does not keep, unless you decide otherwise:',
      differences,
    ),
    ...list('Could not be determined, or not with certainty:', unknowns),
    ...(same.length === 0 ? [] : ['#', ...yamlComment(`As documented: ${namesOf(same).join(', ')}.`)]),
    `name: ${yamlText(`learned-${new URL(target).host.slice(0, maxName)}`)}`,
    ...promisesIn(findings, partial),
    ...render(written.toSorted((a, b) => rankOf(a.path) - rankOf(b.path))),
    '',
  ].join('\n')
  parseProfile(yaml, 'the learned profile')
  return { yaml, differences }
}

const maxName = 100

const furtherLimit = (more: string) =>
  `limits: { further: { <name>: { counts: requests, amount: <number>, windowMs: <milliseconds>${more} } } }`

/** The line of a profile that states what a few calls cannot tell, by the path of the value. */
const lines: Readonly<Record<string, string>> = {
  'limits.windowMs': 'limits: { windowMs: <milliseconds> }',
  'limits.algorithm': `limits: { algorithm: ${limiterAlgorithms.join(' | ')} }`,
  'limits.dialect': `if there is a limit, limits: { dialect: none, tokenHeaders: false } and ${furtherLimit('')}`,
  'limits.further': furtherLimit(''),
  'limits: what the limit counts': furtherLimit(', units: { default: 1, <method>: <units> }'),
  'limits.retryAfter': `limits: { retryAfter: ${retryAfterForms.join(' | ')} }`,
}

const toWrite = (path: string): string => {
  const line = ownMember(lines, path)
  return line === null ? '' : `; to state it, write ${line}`
}

const maxWhy = 180
const shortened = (why: string): string => (why.length > maxWhy ? `${why.slice(0, maxWhy - 3)}...` : why)

/** The base credits of all networks under one name. */
function namesOf(learned: readonly LearnedValue[]): readonly string[] {
  const isNetwork = ({ path }: LearnedValue) => path[1] === 'networks'
  const networks = learned.filter(isNetwork).length
  const others = learned.filter(each => !isNetwork(each)).map(({ path }) => path.join('.'))
  return networks === 0 ? others : [...others, `the base credits of ${plural(networks, 'network')}`]
}

const documentedAt = (path: ValuePath): unknown => valueAt(documentedContract, path)

const isAsDocumented = ({ path, value }: LearnedValue): boolean => same(value, documentedAt(path))

/** Two decimals are the same if their amounts are: `"0.5"` and `"0.50"`. */
const same = (a: unknown, b: unknown): boolean =>
  JSON.stringify(a, withPlainAmount) === JSON.stringify(b, withPlainAmount)

function withPlainAmount(_: string, each: unknown): unknown {
  const amount = typeof each === 'string' ? parsePico(each) : null
  return amount === null ? each : String(amount)
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
      if (finding.kind !== 'difference') return []
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

function promisesIn(findings: readonly Fact[], partial: PartialService | null): readonly string[] {
  const lines = promiseLines(promisesOf(findings, partial))
  const comment =
    'The target does not keep these; see the differences above. Remove an entry to have its clause judged.'
  return lines.length === 0 ? [] : [...yamlComment(comment), ...lines]
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
