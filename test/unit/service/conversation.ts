import type { Contract } from '../../../src/contract/contract.ts'
import { documentedContract } from '../../../src/contract/documented.ts'
import { type ManualClock, manualClock } from '../../../src/prove/manual-clock.ts'
import type { Fault } from '../../../src/service/faults.ts'
import type { Lie } from '../../../src/service/lies/lie.ts'
import type { Reply } from '../../../src/service/message.ts'
import { createService, type Service } from '../../../src/service/service.ts'
import { defaultWalletSettings, type WalletSettings } from '../../../src/service/wallets/wallets.ts'

export const startWallMs = Date.UTC(2026, 0, 15, 12, 0, 0, 250)
export const steadyTiming = { ttftMs: 100, ttftSigma: 0, itlMs: 10, itlSigma: 0, rpcMs: 5, rpcSigma: 0 }

export type RequestDescriptor = {
  readonly method?: string
  readonly path: string
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
  /** A string is sent unchanged, any other value as JSON. */
  readonly body?: unknown
}

export type Conversation = {
  readonly clock: ManualClock
  readonly service: Service
  readonly ask: (request: RequestDescriptor) => Reply
  readonly chat: (body?: Readonly<Record<string, unknown>>, key?: string) => Reply
  readonly rpc: (body: unknown, more?: Partial<RequestDescriptor> & { readonly network?: string }) => Reply
  readonly models: () => Reply
}

type Options = {
  readonly contract?: Contract
  readonly lies?: readonly Lie[]
  readonly usd?: string
  readonly diem?: string
  readonly seed?: number
  readonly faults?: readonly Fault[]
  readonly wallets?: Partial<WalletSettings>
}

/** A new service on a manual clock, with short functions to send requests. */
export function conversation({
  contract = documentedContract,
  lies = [],
  usd = '10',
  diem = '0',
  seed = 7,
  faults = [],
  wallets = {},
}: Options = {}): Conversation {
  const clock = manualClock(startWallMs)
  const service = createService({
    contract,
    clock,
    seed,
    openingBalanceUsd: usd,
    openingBalanceDiem: diem,
    timing: steadyTiming,
    lies,
    faults,
    wallets: { ...defaultWalletSettings, ...wallets },
  })
  const ask = ({ method = 'POST', path, key = 'ref_default_ada', headers = {}, body = '' }: RequestDescriptor) =>
    service.respond({
      method,
      path,
      headers: {
        ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return {
    clock,
    service,
    ask,
    chat: (body = {}, key = 'ref_default_ada') =>
      ask({
        path: '/chat/completions',
        key,
        body: { model: 'ref-nano-3b', messages: hello, max_completion_tokens: 16, ...body },
      }),
    rpc: (body, { network = 'ethereum-mainnet', ...more } = {}) =>
      ask({ path: `/crypto/rpc/${network}`, body, ...more }),
    models: () => ask({ method: 'GET', path: '/models', key: null }),
  }
}

const hello = [{ role: 'user', content: 'Say hello to the world.' }]

export const item = (method: string, id: string | number = 1, params: readonly unknown[] = []) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})

/** The text of a reply, the chunks of a stream joined. */
export const textOf = ({ body }: Reply): string => {
  if (body.kind === 'bytes') return body.bytes.toString('latin1')
  if (body.kind === 'live') throw new Error('a live stream has no text yet')
  return body.kind === 'whole' ? body.text : body.chunks.map(({ text }) => text).join('')
}

// biome-ignore lint/suspicious/noExplicitAny: a test checks each field of a body
export const jsonOf = (reply: Reply): any => JSON.parse(textOf(reply))

/** The JSON events of a stream. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export const eventsOf = (reply: Reply): readonly any[] =>
  textOf(reply)
    .split('\n\n')
    .filter(event => event.startsWith('data: {'))
    .map(event => JSON.parse(event.slice(6)))
