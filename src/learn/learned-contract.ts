import type { Contract } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { loadProfile, parseProfile } from '../contract/profile.ts'
import { isObject } from '../lib/json.ts'
import { UsageError } from '../lib/usage-error.ts'
import { yamlFlow, yamlLines } from '../lib/write-yaml.ts'
import { shippedProfile } from '../library/shipped-files.ts'
import { type Fact, isService, type Known, type LearnedValue, type ValuePath, value } from './question.ts'

/** The last of the values that were found for each key. */
export function valuesIn(facts: readonly Fact[]): readonly LearnedValue[] {
  const values = facts.filter(fact => fact.kind === 'value')
  return [...new Map(values.map(each => [each.path.join('\n'), each])).values()]
}

/** The same fact, unless it has a value that no profile can have. */
export function loadable(fact: Fact): Fact {
  if (fact.kind !== 'value') return fact
  try {
    parseProfile(['name: x', ...yamlLines([{ ...fact, comment: [] }])].join('\n'), 'x')
    return fact
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause
    const why = `a profile cannot have its value (${fact.evidence})`
    return { kind: 'unknown', path: fact.path.join('.'), why }
  }
}

/** The contract with the values that were found, and without the promises of missing parts. */
export function learnedContract(facts: readonly Fact[], partial: PartialService | null): Contract {
  const values = valuesIn(facts).map(each => ({ ...each, comment: [] }))
  return parseProfile(
    ['name: learned', ...promiseLines(promisesOf(facts, partial)), ...yamlLines(values)].join('\n'),
    'the learned profile',
  )
}

/** The same keys as in a profile; `only: null` stands for all clauses. */
export type LearnedPromises = { readonly only: readonly string[] | null; readonly except: readonly string[] }

/** Without the missing parts, and without the clauses that every response breaks. */
export function promisesOf(facts: readonly Fact[], partial: PartialService | null): LearnedPromises {
  const broken = facts.flatMap(fact => {
    if (fact.kind === 'missing') return partial === null ? fact.clauses : []
    return fact.kind === 'difference' && fact.always ? [fact.clause] : []
  })
  return { only: partial?.only ?? null, except: [...new Set([...(partial?.except ?? []), ...broken])] }
}

export const promiseLines = ({ only, except }: LearnedPromises): readonly string[] =>
  only === null && except.length === 0
    ? []
    : ['promises:', ...(only === null ? [] : [`  only: ${yamlFlow(only)}`]), `  except: ${yamlFlow(except)}`]

/** A server with the chat interface of OpenAI, or a blockchain node: it keeps only what a shipped profile says. */
export type PartialService = {
  readonly what: string
  readonly only: readonly string[] | null
  readonly except: readonly string[]
  readonly findings: readonly Fact[]
}

/** What a target is that states neither networks nor limits, and has no headers of its own; null for the service itself. */
export function detectPartial(known: Known): PartialService | null {
  if (isService(known)) return null
  // Its list of models is enough: completions may want a payment, or a model that is still loading.
  const hasModels = known.prefix === null && known.models !== documentedContract.models
  if (known.chat !== null || (known.rpc === null && hasModels))
    return partialOf('openai-compatible', 'a server with the chat interface of OpenAI', known)
  return known.rpc === null ? null : partialOf('json-rpc-node', 'a JSON-RPC node', known)
}

function partialOf(
  profile: Parameters<typeof shippedProfile>[0],
  what: string,
  { limitClauses, replayClauses, creditClauses, hasBatchLimit }: Known,
): PartialService {
  const contract = loadProfile(shippedProfile(profile))
  const paths = Object.keys(contract.sources)
    .filter(path => path !== 'name' && !path.startsWith('promises.'))
    .map((path): ValuePath => [path.split('.')[0] ?? '', ...path.split('.').slice(1)])
  const own = { limits: limitClauses, replays: replayClauses, credits: creditClauses }
  const parts = Object.entries(own).flatMap(([part, clauses]) => (clauses.length === 0 ? [] : [part]))
  return {
    what: `${what}${parts.length === 0 ? '' : ` with ${parts.join(' and ')}`}, and nothing else of the document`,
    only: [...(contract.promises.only ?? []), ...Object.values(own).flat()],
    except: contract.promises.except.filter(each => !hasBatchLimit || each !== 'rpc.protocol.batch-limit'),
    findings: paths.map(path => value(path, valueAt(contract, path), `as in the profile ${profile}`)),
  }
}

/** The value of a contract at a path; undefined if it has none. */
export function valueAt(contract: Contract, path: ValuePath): unknown {
  let at: unknown = contract
  for (const key of path) at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  return at
}
