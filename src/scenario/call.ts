import type { ChatOptions } from '../contract/chat-options.ts'
import type { ModelTier, ResourceLimit } from '../contract/contract.ts'

/** What is sent, with model, methods and weights decided by the contract. */
export type Call =
  | {
      readonly kind: 'chat'
      readonly model: string
      readonly modelTier: ModelTier
      readonly stream: boolean
      readonly promptTokens: number
      /** The most tokens of one choice. */
      readonly maxCompletionTokens: number
      /** Whether the request says so; else it is what holds without being said. */
      readonly isBounded: boolean
      /** null: a prompt and a bound are all that is sent. */
      readonly options: ChatOptions | null
    }
  | RpcCall
  | {
      readonly kind: 'replay'
      readonly of: RpcCall
      /** Further requests with the key and the body of the first. */
      readonly duplicates: number
      /** Whether the duplicates are sent together with the first, or one after the other when it has ended. */
      readonly concurrent: boolean
      /** Probability that an arrival ends with one request with the same key and another body. */
      readonly conflicting: number
      /** Probability that an arrival ends with one request with the same key and body from another caller. */
      readonly foreign: number
      /** So long after all that, one more request with the key and the body of the first; null: none. */
      readonly againAfterMs: number | null
      /** Probability that another key of the same account follows with the same body. */
      readonly otherKey: number
    }
  | { readonly kind: 'models' | 'networks' | 'rate-limits' | 'rate-limit-logs' }
  | {
      readonly kind: 'resource'
      readonly resource: string
      readonly draws: ResourceLimit | null
      /** Members over those of the contract. */
      readonly body: Readonly<Record<string, unknown>>
      readonly page: number | null
      readonly limit: number | null
    }
  | { readonly kind: 'probe'; readonly probe: string }

export type RpcCall = {
  readonly kind: 'rpc'
  readonly network: string
  readonly methods: readonly (readonly [method: string, weight: number])[]
  /** Items of a batch; null: a single call. */
  readonly batchSize: number | null
  /** Items of each batch that fail on purpose; for a single call the probability that it does. */
  readonly failing: number
}

/** Weights of calls or of methods: the probability of each is its weight in the sum of all. */
export type Mix = readonly (readonly [call: string, weight: number])[]
