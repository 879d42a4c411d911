import type { z } from 'zod'
import { type ClauseId, clauseIds } from '../contract/clauses.ts'
import { type Contract, contractSchema } from '../contract/contract.ts'
import { clausesMatching } from '../contract/promises.ts'
import type { JsonObject } from '../lib/json.ts'
import { memoizeLast } from '../lib/memoize.ts'
import { entriesOf, explainIssues, parseFields, type SchemaIssue } from '../lib/schemas.ts'
import { describeValue, isLikelySecret, UsageError, unknownWord } from '../lib/usage-error.ts'
import { parseYaml, type ReportMistake, readYaml, type SchemaMistake, type YamlSource } from '../lib/yaml.ts'
import { resolveCalls, withNamedProbes } from './calls/calls.ts'
import { amountProblem } from './calls/wallets.ts'
import { dataSource } from './data-source.ts'
import { durationText, nameField, nameText, rateText } from './fields.ts'
import { withoutUnoffered } from './not-offered.ts'
import { resolveStages } from './resolve-stages.ts'
import { resolveSlo, resolveThresholds } from './resolve-thresholds.ts'
import { callersSchema, type Scenario, scenarioSchema, settingsSchema } from './schema.ts'
import { limitsFor } from './tier-rate.ts'
import { durationHint, rateHint } from './units.ts'

const scenarioFile = { name: 'scenario', secretHint: 'set TURNPIKE_KEYS, or name a file in callers.keys-file' }

/** A suggestion for a value in another notation that people often use. */
function hintFor(issue: SchemaIssue, got: unknown): { readonly hint?: string } {
  if (issue.message === durationText) return durationHint(got)
  if (issue.message === rateText) return rateHint(got)
  if (issue.message === nameText && typeof got === 'string') {
    const name = got
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
    return nameField.safeParse(name).success ? { hint: `did you mean "${name}"?` } : {}
  }
  const place = issue.path.map(step => (typeof step === 'number' ? '' : step)).join('.')
  const write = inPlaceOfText[place]
  return write === undefined || typeof got === 'object' ? {} : { hint: `did you mean ${write(String(got))}?` }
}

/** What belongs in place of a plain text or number, by its place in the file. */
const inPlaceOfText: Readonly<Record<string, (got: string) => string>> = {
  callers: got => `{ count: ${got} }`,
  budget: got => `{ usd: ${got} }`,
  'thresholds.': got => `{ expect: ${got}, why: … }`,
}

/**
 * Whether models, networks and limits of this target (null: the reference service) are not known yet. Then the names of the
 * scenario are accepted as they are, and no rate is compared with a limit.
 */
export type IsTentative = (target: string | null) => boolean

/** Loads the scenario in `file`. Throws UsageError with every mistake of the file, in order of lines. */
export function loadScenario(file: string, contract: Contract, isTentative?: IsTentative): Scenario {
  return parseScenario(readScenario(file), file, contract, isTentative)
}

/** The text of a scenario file. A pipe can be read only once. Throws UsageError. */
export const readScenario = (file: string): string => readYaml(file, scenarioFile)

/** A scenario as the text of a file, or as plain data from a program. */
export type WrittenScenario = string | JsonObject

const sourceOf = (written: WrittenScenario, file: string): YamlSource =>
  typeof written === 'string' ? lastParsed(written, file) : dataSource(written, file, scenarioFile)

/** A text is read for its profile, for its calls, and as a whole. */
const lastParsed = memoizeLast((text: string, file: string) => parseYaml(text, file, scenarioFile))

/** The members of a scenario, without a check. Throws a UsageError if the text is not YAML. */
export const membersOf = (written: WrittenScenario, file: string): JsonObject =>
  entriesOf(sourceOf(written, file).value)

/** The profile that a scenario names; null if it names none. */
export function profileNamedIn(written: WrittenScenario, file: string): string | null {
  const { profile } = membersOf(written, file)
  return typeof profile === 'string' ? profile : null
}

/** Like `loadScenario`, for text or data. Messages name its source `file`. */
export function parseScenario(
  text: WrittenScenario,
  file: string,
  contract: Contract,
  isTentative: IsTentative = () => false,
): Scenario {
  const source = sourceOf(text, file)
  if (source.value === null)
    throw new UsageError({ where: `${file}:1:1`, got: 'an empty file', expected: 'a scenario' })

  assertNoOtherFile(source.value, file)

  const found: SchemaMistake[] = [...explainIssues(scenarioSchema, source.value, { hint: hintFor })]
  const report = (mistake: SchemaMistake) => void found.push(mistake)
  const written = entriesOf(source.value)
  const address = scenarioSchema.shape.target.safeParse(written.target).data
  const target =
    address === undefined
      ? null
      : checkTarget(address, problem => report({ path: ['target'], at: 'value', ...problem }))
  const callers = parseFields(callersSchema, written.callers)
  const offers = { contract, isTentative: isTentative(target) }
  const calls = withNamedProbes(resolveCalls(written.calls, callers, offers, report), written.stages)
  const limitOf = callers.tier && limitsFor(callers.tier, callers['limits-from'] ?? 'target', contract)
  const { count, wallets, tier } = callers
  const total = count === undefined || wallets === undefined ? undefined : count + wallets
  checkCallers(callers, contract, report)
  const context = {
    calls,
    callers: total === 0 ? undefined : total,
    keyed: count,
    tier,
    limitOf,
    isTentative: offers.isTentative,
  }
  const stages = resolveStages(written.stages, context, report)
  const stageNames = (Array.isArray(written.stages) ? written.stages : [])
    .map(stage => entriesOf(stage).name)
    .filter(name => typeof name === 'string')
  const slo = resolveSlo(written.slo, calls, report)
  const thresholds = resolveThresholds(written.thresholds, { calls, stages, stageNames }, report)

  const mustJudge = resolveMustJudge(written['must-judge'], report)

  const mistakes = source.locate(found)
  if (mistakes.length > 0) throw new UsageError(mistakes)
  const whole = {
    ...settingsSchema.parse(source.value),
    target,
    calls: Object.fromEntries([...calls].map(([call, value]) => [call, complete(value)])),
    stages: stages.map(complete),
    slo,
    thresholds: thresholds.map(complete),
    mustJudge,
    notOffered: [],
  }
  return offers.isTentative ? whole : withoutUnoffered(whole, contract, file)
}

/** The clauses of `must-judge`. Reports patterns that no clause matches. */
function resolveMustJudge(value: unknown, report: ReportMistake): readonly ClauseId[] {
  const found = (Array.isArray(value) ? value : []).flatMap((pattern: unknown, index) => {
    if (typeof pattern !== 'string') return []
    const matching = clausesMatching(pattern)
    const what = 'the id of a clause, a pattern such as billing.*, or a section such as §4.4'
    if (matching.length === 0)
      report({ path: ['must-judge', index], at: 'value', ...unknownWord(pattern, clauseIds, what) })
    return matching
  })
  return clauseIds.filter(id => found.includes(id))
}

/** Callers with keys and wallets together. */
const maxCallers = 10_000

/** Reports a scenario without callers, too many callers, and keys that do not fit the wallets. */
function checkCallers(
  callers: Partial<z.output<typeof callersSchema>>,
  { name, wallets: terms }: Contract,
  report: ReportMistake,
): void {
  const { count, wallets, chain, 'top-up': topUp } = callers
  const path = ['callers']
  if (count === 0 && wallets === 0)
    report({ path: [...path, 'count'], at: 'value', got: '0', expected: 'at least 1, since there are no wallets' })
  if (count !== undefined && wallets !== undefined && count + wallets > maxCallers)
    report({ path: [...path, 'wallets'], at: 'value', got: String(wallets), expected: `at most ${maxCallers - count}` })
  const chains = Object.keys(terms.rails)
  for (const each of typeof chain === 'string' ? [chain] : (chain ?? [])) {
    if (chains.includes(each)) continue
    report({ path: [...path, 'chain'], at: 'value', ...unknownWord(each, chains, `a chain of the profile "${name}"`) })
  }
  for (const key of ['chain', 'top-up', 'wallet-keys-file'] as const) {
    if (wallets !== 0 || callers[key] === undefined) continue
    report({ path: [...path, key], at: 'key', got: `"${key}" without wallets`, expected: '"wallets" above 0' })
  }
  const problem = topUp === undefined ? null : amountProblem(topUp, terms)
  if (problem !== null) report({ path: [...path, 'top-up'], at: 'value', got: String(topUp), expected: problem })
}

/** Throws one UsageError, instead of one for each key, if a file without any part of a scenario is another file. */
function assertNoOtherFile(value: unknown, file: string): void {
  const keys = Object.keys(entriesOf(value)).filter(key => key !== 'name')
  if (keys.some(key => Object.hasOwn(scenarioSchema.shape, key))) return
  const isProfile = keys.length > 0 && keys.every(key => Object.hasOwn(contractSchema.shape, key))
  if (!isProfile && keys.length <= maxMisspelled) return
  const got = isProfile ? 'a profile' : 'a file without callers, calls and stages'
  const hint = isProfile ? { hint: `did you mean "--profile ${file}"?` } : {}
  throw new UsageError({ where: file, got, expected: 'a scenario', ...hint })
}

/** A file of this many unknown keys and no known one may still be a scenario in the making. */
const maxMisspelled = 3

/** A null is a reported mistake, and parsing stops before this if there is one. */
function complete<T>(value: T | null): T {
  if (value === null) throw new TypeError('a scenario without a mistake is complete')
  return value
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
const hasControlCharacter = (text: string): boolean => /[\u0000-\u0020\u007f]/.test(text)

/** A hint for `localhost:8080/v1` or `api.example.com`. */
function schemeHint(target: string): { readonly hint?: string } {
  const [, host] = /^((?:[a-z0-9-]+\.)*[a-z0-9-]+)(?::\d{1,5})?(?:\/\S*)?$/i.exec(target) ?? []
  if (host === undefined || isLikelySecret(target) || !/[.:]/.test(target)) return {}
  return { hint: `did you mean "${/^(localhost|127\.)/.test(host) ? 'http' : 'https'}://${target}"?` }
}

type TargetProblem = { readonly got: string; readonly expected: string; readonly hint?: string }

/** A base address without a trailing slash, or null if it is reported. The report never repeats a password. */
export function checkTarget(target: string, report: (problem: TargetProblem) => void): string | null {
  const expected = 'an http or https address such as http://127.0.0.1:8402/api/v1'
  // A URL drops line breaks and control characters silently.
  const url = !hasControlCharacter(target) && URL.canParse(target) ? new URL(target) : null
  if (url === null || !/^https?:$/.test(url.protocol)) {
    // A password comes before an @, even in an address that is not a URL.
    if (target.includes('@')) report({ got: 'an address with an @', expected })
    else report({ got: describeValue(target), expected, ...schemeHint(target) })
    return null
  }
  if (url.username !== '' || url.password !== '') {
    report({ got: 'an address with a user name or a password', expected, hint: 'set TURNPIKE_KEYS for secrets' })
    return null
  }
  if (url.search !== '' || url.hash !== '') {
    report({ got: describeValue(target), expected: `${expected}, without ? and #` })
    return null
  }
  return url.href.replace(/\/+$/, '')
}
