import { type Fact, type Known, value } from './question.ts'

/** A server with the chat interface of OpenAI, or a blockchain node: each keeps few rules of the document. */
export type PartialService = {
  readonly what: string
  readonly only: readonly string[]
  readonly except: readonly string[]
  readonly findings: readonly Fact[]
}

/** What a target is that states neither networks nor limits, and has no headers of its own; null for the service itself. */
export function detectPartial({ prefix, limits, networks, chat, rpc }: Known): PartialService | null {
  if (prefix !== null || limits.size > 0 || networks.length > 0) return null
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
