import { decimal } from './accounts.ts'
import type { Exchange } from './exchange.ts'
import type { Lie } from './lies.ts'
import { changed, removed, where } from './lies-headers.ts'
import { headerOf, type Json, objectIn, type Reply, withHeader, withValue } from './reply.ts'

const isRpc = (reply: Reply, { path }: Exchange): boolean =>
  reply.status === 200 && path.startsWith('/crypto/rpc/') && !path.endsWith('/networks')

const isReplay = (reply: Reply): boolean => headerOf(reply, 'Idempotent-Replayed') === 'true'

const itemsIn = ({ body }: Reply): readonly Json[] | null =>
  body.kind === 'json' && Array.isArray(body.value) ? (body.value as readonly Json[]) : null

const refusedFor =
  (words: string) =>
  (reply: Reply): boolean =>
    reply.status === 400 && `${objectIn(reply)?.error}`.includes(words)

const success = (reply: Reply): Reply => withValue({ ...reply, status: 200 }, { jsonrpc: '2.0', id: 1, result: '0x1' })

/** Lies of the RPC proxy, about idempotency keys, and about charges. */
export const moneyLies: readonly Lie[] = [
  {
    name: 'failed-item-in-full',
    section: '4.3',
    does: 'bills a failed item 20 credits',
    clauses: ['rpc.batch.error-price'],
    settings: { errorItemCredits: 20 },
  },
  {
    name: 'credits-off-by-one',
    section: '4.3',
    does: 'states one credit too many',
    clauses: ['rpc.credits.amount'],
    change: where(
      isRpc,
      changed('X-Service-RPC-Credits', old => `${Number(old) + 1}`),
    ),
  },
  {
    name: 'cost-tenfold',
    section: '4.3',
    does: 'states ten times the cost of the credits',
    clauses: ['rpc.cost.amount'],
    change: changed('X-Service-RPC-Cost-USD', old => (Number(old) * 10).toFixed(8)),
  },
  {
    name: 'no-credits',
    section: '4.3',
    does: 'does not state the credits',
    clauses: ['rpc.credits.header'],
    change: removed('X-Service-RPC-Credits'),
  },
  {
    name: 'id-as-text',
    section: '4.3',
    does: 'returns each id as a text',
    clauses: ['rpc.id', 'rpc.batch.correlation'],
    change: where(isRpc, reply => {
      const asText = (item: Json) => ({ ...item, id: `${item.id}` })
      const items = itemsIn(reply)
      return withValue(reply, items === null ? asText(objectIn(reply) ?? {}) : items.map(asText))
    }),
  },
  {
    name: 'batch-loses-an-item',
    section: '4.3',
    does: 'leaves out the last response of a batch',
    clauses: ['rpc.batch.correlation'],
    change: where(isRpc, reply => withValue(reply, itemsIn(reply)?.slice(0, -1) ?? objectIn(reply))),
  },
  {
    name: 'result-and-error',
    section: '4.3',
    does: 'returns a failed item with both a result and an error',
    clauses: ['rpc.response'],
    change: where(isRpc, reply => {
      const both = (item: Json) => ('error' in item ? { ...item, result: '0x0' } : item)
      return withValue(reply, itemsIn(reply)?.map(both) ?? objectIn(reply))
    }),
  },
  {
    name: 'answers-filters',
    section: '4.3',
    does: 'answers stateful filter methods',
    clauses: ['rpc.unsupported-method.filter'],
    change: where((reply, { body }) => reply.status === 400 && /^\{.*eth_newFilter/.test(body), success),
  },
  {
    name: 'names-one-method',
    section: '4.3',
    does: 'names only the first of several unsupported methods',
    clauses: ['rpc.unsupported-method.named'],
    change: where(refusedFor('Unsupported methods'), reply => {
      const text = `${objectIn(reply)?.error}`
      return withValue(reply, { ...objectIn(reply), error: text.split(',')[0] })
    }),
  },
  {
    name: 'batch-of-150',
    section: '4.3',
    does: 'accepts batches of 150 items',
    clauses: ['rpc.batch.limit'],
    settings: { batchItems: 150 },
  },
  {
    name: 'rpc-as-text',
    section: '4.3',
    does: 'returns RPC responses as text/plain',
    clauses: ['rpc.content-type'],
    change: where(isRpc, reply => ({ ...reply, type: 'text/plain' })),
  },
  {
    name: 'one-request-id',
    section: '4.3',
    does: 'sends the same X-Request-ID with every response',
    clauses: ['rpc.request-id.unique'],
    change: changed('X-Request-ID', () => 'aBCdEFghIjKlMnOpQrStUvWxYz012345'),
  },
  {
    name: 'silent-replay',
    section: '4.3',
    does: 'does not mark replays',
    clauses: ['rpc.replay.header'],
    change: removed('Idempotent-Replayed'),
  },
  {
    name: 'replay-of-something-else',
    section: '4.3',
    does: 'replays another body',
    clauses: ['rpc.replay.body'],
    change: where(isReplay, reply => {
      const renewed = (item: Json) => ('result' in item ? { ...item, result: '0xfeed' } : item)
      return withValue(reply, itemsIn(reply)?.map(renewed) ?? renewed(objectIn(reply) ?? {}))
    }),
  },
  {
    name: 'replay-charged',
    section: '4.3',
    does: 'charges replays like first requests',
    clauses: ['rpc.replay.charge', 'billing.conservation'],
    change: where(isReplay, (reply, { account, service }) => {
      const credits = Number(headerOf(reply, 'X-Service-RPC-Credits'))
      if (account !== null) account.usd -= credits * service.catalog.credit
      return reply
    }),
  },
  {
    name: 'conflict-accepted',
    section: '4.3',
    does: 'accepts a used key with another body',
    clauses: ['rpc.replay.conflict'],
    change: where(refusedFor('used with another body'), success),
  },
  {
    name: 'balance-after',
    section: '4.4',
    does: 'states the balance after the request',
    clauses: ['billing.balance-before'],
    change: changed('x-service-balance-usd', (_, { account, service }) =>
      decimal(account?.usd ?? 0, service.variant.balanceDecimals),
    ),
  },
  {
    name: 'hidden-fee',
    section: '1',
    does: 'takes a tenth of a cent more than it states',
    clauses: ['billing.conservation'],
    change: where(isRpc, (reply, { account }) => {
      if (account !== null) account.usd -= 1_000_000
      return reply
    }),
  },
  {
    name: 'wrong-currency',
    section: '2.4',
    does: 'states a cost in DIEM and takes USD',
    clauses: ['billing.currency'],
    change: (reply, { path }) => {
      const value = objectIn(reply)
      if (path !== '/chat/completions' || value?.cost === undefined) return reply
      const { usd, diem } = value.cost as Json
      return withHeader(withValue(reply, { ...value, cost: { usd: diem, diem: usd } }), 'x-lied', 'true')
    },
  },
  {
    name: 'forgets-keys',
    section: '4.3',
    does: 'forgets a key after half a second',
    clauses: ['rpc.replay.expiry.kept', 'rpc.replay.header', 'rpc.replay.charge'],
    settings: { keptMs: 500 },
    takesWindows: true,
  },
  {
    name: 'keeps-keys',
    section: '4.3',
    does: 'replays a key after its lifetime',
    clauses: ['rpc.replay.expiry.ends'],
    settings: { keptMs: 86_400_000 },
    takesWindows: true,
  },
]
