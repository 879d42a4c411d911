import { type Contract, resourceOf } from '../contract.ts'
import {
  chatRequest,
  chatStreamRequest,
  listRequest,
  mostExpensiveCall,
  networkOf,
  type Probe,
  type Probes,
  resourceRequest,
  rpcItem,
  rpcRequest,
  type Sender,
} from '../probe.ts'
import type { KeyForgery, KeyForm } from '../requests/credentials.ts'

const toNode = rpcRequest(() => rpcItem('eth_blockNumber'))
const batchToNode = rpcRequest(() => [rpcItem('getSlot', 1), rpcItem('getSlot', 2)], {}, networkOf('solana'))
const hello = chatRequest(() => ({}))
const helloStreamed = chatStreamRequest(() => ({}))

/** A valid request except for its sender. It does not draw on a caller's limit. */
const sentBy = (
  as: Sender,
  clause: Probe['clause'],
  request: Probe['request'],
  promised: Probe['promised'] = () => [401],
): Probe => ({ clause, as, draws: null, promised, names: [], request })

const unpaid = (): readonly number[] => [402]
const noKey = ({ auth }: Contract): readonly number[] => auth.noKey
const refusedOrNoKey = ({ auth }: Contract): readonly number[] => [...new Set([401, ...auth.noKey])]

/** Whatever a profile says about inference, other requests without a key may be refused or get an offer of payment. */
const refusedOrOffered = ({ auth }: Contract): readonly number[] => (auth.noKey.length === 0 ? [] : [401, 402])

const limits = listRequest(({ paths }) => paths.rateLimits)
const limitLogs = listRequest(({ paths }) => paths.rateLimitLogs)

/** A resource may be missing at the target. */
const missing: readonly number[] = [404, 405, 410, 501]

const toResource = (
  as: Sender,
  clause: Probe['clause'],
  name: string,
  refused: (contract: Contract) => readonly number[],
): Probe =>
  sentBy(as, clause, resourceRequest(name), contract =>
    resourceOf(contract, name) === null || refused(contract).length === 0 ? [] : [...refused(contract), ...missing],
  )

const badKeyTo = (name: string) => toResource('bad-key', 'auth.bearer', name, () => [401])
const noKeyTo = (name: string) => toResource('anonymous', 'auth.missing', name, refusedOrOffered)

/** A valid request with the caller's own key in another form, so that a service that accepts it also charges it. */
const misplaced = (as: KeyForgery, isOtherForm: (form: KeyForm) => boolean = () => true): Probe => ({
  ...sentBy(as, 'auth.malformed', hello, contract => (isOtherForm(contract.auth) ? refusedOrNoKey(contract) : [])),
  draws: 'chat',
})

/** A model reserved for paying users, if the contract has one; otherwise nothing is asserted. */
const reserved = ({ models }: Contract) => models.find(({ payingOnly }) => payingOnly)

const forPayers = (request: typeof chatRequest): Probe =>
  sentBy(
    'free-user',
    'auth.paid-only',
    request(contract => ({ model: reserved(contract)?.id ?? contract.models[0]?.id })),
    contract => (reserved(contract) === undefined ? [] : [401]),
  )

export const authProbes = {
  'bad-key': sentBy('bad-key', 'auth.bearer', hello),
  'bad-key-to-rpc': sentBy('bad-key', 'auth.bearer', toNode),
  'bad-key-to-stream': sentBy('bad-key', 'auth.bearer', helloStreamed),
  'bad-key-to-batch': sentBy('bad-key', 'auth.bearer', batchToNode),
  'bad-key-to-embeddings': badKeyTo('embeddings'),
  'bad-key-to-images': badKeyTo('image'),
  'bad-key-to-speech': badKeyTo('speech'),
  'bad-key-to-videos': badKeyTo('video-queue'),
  'bad-key-to-video': badKeyTo('video-retrieve'),
  'bad-key-to-balance': badKeyTo('billing-balance'),
  'bad-key-to-usage': badKeyTo('billing-usage'),
  'bad-key-to-limits': sentBy('bad-key', 'auth.bearer', limits),
  'bad-key-to-limit-logs': sentBy('bad-key', 'auth.bearer', limitLogs),
  'no-key': sentBy('anonymous', 'auth.missing', hello, noKey),
  'no-key-to-rpc': sentBy('anonymous', 'auth.missing', toNode, noKey),
  'no-key-to-stream': sentBy('anonymous', 'auth.missing', helloStreamed, noKey),
  'no-key-to-batch': sentBy('anonymous', 'auth.missing', batchToNode, noKey),
  'no-key-to-embeddings': noKeyTo('embeddings'),
  'no-key-to-images': noKeyTo('image'),
  'no-key-to-speech': noKeyTo('speech'),
  'no-key-to-videos': noKeyTo('video-queue'),
  'no-key-to-video': noKeyTo('video-retrieve'),
  'no-key-to-balance': noKeyTo('billing-balance'),
  'no-key-to-usage': noKeyTo('billing-usage'),
  'no-key-to-limits': sentBy('anonymous', 'auth.missing', limits, refusedOrOffered),
  'no-key-to-limit-logs': sentBy('anonymous', 'auth.missing', limitLogs, refusedOrOffered),
  // To a service that knows only keys and wallets, these are no credentials.
  'other-scheme': sentBy('other-scheme', 'auth.malformed', hello, refusedOrNoKey),
  'key-of-other-scheme': misplaced('key-of-other-scheme'),
  'key-without-scheme': misplaced('key-without-scheme', ({ scheme }) => scheme !== null),
  'key-in-other-header': misplaced('key-in-other-header'),
  'model-for-payers': forPayers(chatRequest),
  'model-for-payers-as-stream': forPayers(chatStreamRequest),
  'empty-account': sentBy('zero-balance', 'error.402', hello, unpaid),
  'empty-account-to-rpc': sentBy('zero-balance', 'error.402', toNode, unpaid),
  'empty-account-to-stream': sentBy('zero-balance', 'error.402', helloStreamed, unpaid),
  'empty-account-to-batch': sentBy('zero-balance', 'error.402', batchToNode, unpaid),
} as const satisfies Probes

/** All characters that a key may have. */
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-'
const keyOf = (length: number) => alphabet.repeat(4).padEnd(length, 'A').slice(0, length)

/**
 * Always the same request: a short key cannot be new each time. Its first use and its replays are all valid with 200.
 */
const request =
  (key: string, method = 'eth_chainId') =>
  (contract: Contract) =>
    rpcRequest(() => rpcItem(method), { [contract.idempotency.header.toLowerCase()]: key })(contract)

const hasKeys = ({ idempotency }: Contract) => idempotency.calls.includes('rpc')

const matches = (key: string, { idempotency }: Contract) => new RegExp(idempotency.keyPattern).test(key)

const good = (key: string, method?: string): Probe => ({
  clause: 'rpc.replay.key',
  as: 'caller',
  draws: 'rpc',
  promised: contract => (hasKeys(contract) && matches(key, contract) ? [200] : []),
  names: [],
  credits: mostExpensiveCall,
  request: request(key, method),
})

/**
 * A key that differs from the longest one in some characters only, with another body. A service that takes both for one
 * key rejects it as a conflict, if the longest key was used before.
 */
const similar = (change: (key: string) => string): Probe => good(change(keyOf(255)), 'eth_blockNumber')

const otherCase = (key: string): string =>
  key.replaceAll(/[a-z]/gi, letter => (letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()))

const bad = (key: string, body: (contract: Contract) => unknown = () => rpcItem('eth_chainId')): Probe => ({
  clause: 'rpc.replay.bad-key',
  as: 'caller',
  draws: 'rpc',
  promised: contract => {
    const { badKey } = contract.idempotency
    return badKey === null || !hasKeys(contract) || matches(key, contract) ? [] : [badKey === 'rejected' ? 400 : 200]
  },
  names: [],
  credits: mostExpensiveCall,
  request: contract => rpcRequest(body, { [contract.idempotency.header.toLowerCase()]: key })(contract),
})

/** Idempotency keys at the limits of the documented pattern. */
export const keyProbes = {
  'key-of-one-character': good('k'),
  'key-of-255-characters': good(keyOf(255)),
  'key-with-another-end': similar(key => `${key.slice(0, -1)}A`),
  'key-with-another-start': similar(key => `B${key.slice(1)}`),
  'key-in-other-case': similar(otherCase),
  'key-with-other-marks': similar(key => key.replaceAll('-', '_')),
  'key-of-nothing': bad(''),
  'key-of-256-characters': bad(keyOf(256)),
  'key-with-a-dot': bad('order.1'),
  'key-with-a-colon': bad('order:1'),
  'key-with-a-space': bad('order 1'),
  'key-in-base64': bad('b3JkZXI/MQ+='),
  'key-with-a-dot-to-batch': bad('order.1', () => [rpcItem('eth_chainId')]),
} as const satisfies Probes
