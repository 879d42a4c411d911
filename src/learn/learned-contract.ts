import type { Contract } from '../contract/contract.ts'
import { parseProfile } from '../contract/profile.ts'
import { UsageError } from '../lib/usage-error.ts'
import { yamlFlow, yamlLines } from '../lib/write-yaml.ts'
import { type Fact, isService, type Known, type LearnedValue, value } from './question.ts'

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

/** A server with the chat interface of OpenAI, or a blockchain node: each keeps few rules of the document. */
export type PartialService = {
  readonly what: string
  readonly only: readonly string[]
  readonly except: readonly string[]
  readonly findings: readonly Fact[]
}

/** What a target is that states neither networks nor limits, and has no headers of its own; null for the service itself. */
export function detectPartial(known: Known): PartialService | null {
  const { chat, rpc } = known
  if (isService(known)) return null
  if (chat !== null) return { ...chatServer, findings: chatServer.findings.map(because('such servers differ in it')) }
  return rpc === null ? null : { ...node, findings: node.findings.map(because('a node states none')) }
}

type Value = readonly [path: readonly [string, ...string[]], value: unknown]

const because =
  (evidence: string) =>
  ([path, each]: Value) =>
    value(path, each, evidence)

const chatServer = {
  what: 'a server with the chat interface of OpenAI, and nothing else of the document',
  only: ['chat.*', 'catalogue.models'],
  except: [
    ...['chat.cost*', 'chat.choice.stop-reason', 'chat.choice.length', 'chat.model', 'chat.compression*'],
    ...['chat.media-type', 'chat.request.*', 'chat.logprobs*', 'chat.prompt-logprobs'],
  ],
  findings: [
    [['auth', 'noKey'], []],
    [['chat', 'systemPromptOption'], null],
    [['chat', 'lengthField'], 'max_tokens'],
    [['chat', 'logprobsKey'], 'optional'],
    [
      ['chat', 'finishReasons'],
      ['stop', 'length', 'tool_calls', 'function_call', 'content_filter'],
    ],
    [['chat', 'unknownMembers'], null],
  ] satisfies readonly Value[],
}

const node = {
  what: 'a JSON-RPC node, and nothing else of the document',
  only: [
    'rpc.content-type',
    'rpc.response',
    'rpc.response.error',
    'rpc.id',
    'rpc.batch.correlation',
    'rpc.item-failure.alone',
  ],
  except: [],
  findings: [
    [['auth', 'noKey'], []],
    [['rpc', 'requestsPerMinute'], null],
    [['rpc', 'unknownNetworkStatus'], null],
    [['rpc', 'invalidRequestStatus'], null],
  ] satisfies readonly Value[],
}
