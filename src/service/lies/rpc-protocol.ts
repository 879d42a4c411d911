import { type JsonObject, parseJson, parseObject, toObject } from '../../lib/json.ts'
import { addTo, always } from './decisions.ts'
import { alsoViolating, type LieRow, type Lies, row } from './lie.ts'
import {
  all,
  changeReplies,
  isBatch,
  isNodeReply,
  isOf,
  not,
  type ReplyTest,
  replies,
  replyText,
  says,
  setStatus,
  setText,
  withText,
} from './replies.ts'

const asks =
  (part: string): ReplyTest =>
  (_, { request }) =>
    String(request.body).includes(part)

const isSilent: ReplyTest = reply => replyText(reply) === ''

const served = setText('{"jsonrpc":"2.0","id":1,"result":"0x1"}')
const failed = (code: number, id: number | null = 1) =>
  setText(`{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":"failed"}}`)

/** Replaces the first 32 bits of a hash by the number of replies so far. */
const counted = (text: string, fits: ReplyTest, member: string): LieRow =>
  row(text, (honest, contract) => {
    let asked = 0
    const hash = new RegExp(`"${member}":"0x[0-9a-f]{8}`)
    const replaced = () => `"${member}":"0x${(++asked).toString(16).padStart(8, '0')}`
    return changeReplies(fits, reply => withText(reply, replyText(reply).replace(hash, replaced)))(honest, contract)
  })

/** Whether a reply answers as many calls as a batch may have, on Solana. */
const fillsSolanaBatch: ReplyTest = (reply, { request }, { rpc }) =>
  isBatch(reply) && request.path.includes('solana') && [parseJson(replyText(reply))].flat().length === rpc.batchLimit

const receipts = asks('"eth_getBlockReceipts"')
const otherHash = `0x${'ab'.repeat(32)}`

/** Changes the list that is the result of a single call. */
const inResult = (text: string, method: string, change: (list: readonly JsonObject[]) => unknown): LieRow =>
  replies(text, asks(`"${method}"`), reply => {
    const body = parseObject(replyText(reply))
    const { result } = body ?? {}
    return Array.isArray(result) && result.length > 0
      ? withText(reply, JSON.stringify({ ...body, result: change(result.map(each => toObject(each) ?? {})) }))
      : reply
  })

const inReceipts = (text: string, change: (list: readonly JsonObject[]) => unknown): LieRow =>
  inResult(text, 'eth_getBlockReceipts', change)

const plusOne = (value: JsonObject | undefined, name: string): JsonObject => ({
  ...value,
  [name]: `0x${(Number(value?.[name]) + 1).toString(16)}`,
})

/** Lies of nodes that read JSON-RPC or the sizes of batches in their own way, or disagree with themselves. */
export const rpcProtocolLies = {
  'rpc.protocol.no-json': {
    'half-a-request-is-a-page': replies(
      'A request that is not JSON gets a text.',
      says('parse error'),
      setStatus(400),
      setText('400 Bad Request'),
    ),
    'half-a-request-is-invalid': replies(
      'A request that is not JSON gets -32600.',
      says('parse error'),
      failed(-32_600, null),
    ),
  },
  'rpc.protocol.version': {
    'version-not-needed': replies(
      'A request without jsonrpc is served.',
      all(isNodeReply, not(asks('"jsonrpc"')), asks('"method"')),
      served,
    ),
    'any-version': replies('A request of another version is served.', asks('"jsonrpc":"2.1"'), served),
  },
  'rpc.protocol.unknown-method': {
    'unknown-method-is-unreadable': replies('An unknown method gets -32700.', says('-32601'), failed(-32_700)),
    'unknown-method-is-null': replies(
      'An unknown method has the result null.',
      says('-32601'),
      setText('{"jsonrpc":"2.0","id":1,"result":null}'),
    ),
  },
  'rpc.coherence.head': {
    'one-replica-lags': row(
      'Each third request is served by a replica that is 4 blocks further behind than it may be.',
      (honest, { rpc }) => ({
        nodeLag: (request, item) => (request % 3 === 2 ? rpc.headLag + 4 : honest.nodeLag(request, item)),
      }),
    ),
    'last-block-from-a-cache': row(
      'Every fourth request for the last block gets one that is 4 blocks behind, and the number of the last block is right.',
      (honest, { rpc }) => {
        let asked = 0
        let isStale = false
        return {
          scope: (scope, state) => {
            const isOfLast = String(state.request.body).includes('"method":"eth_getBlockByNumber","params":["latest"')
            isStale = isOfLast && ++asked % 4 === 0
            return honest.scope(scope, state)
          },
          nodeLag: (request, item) => honest.nodeLag(request, item) + (isStale ? rpc.headLag + 4 : 0),
        }
      },
    ),
  },
  'rpc.coherence.batch': {
    'batch-split-over-replicas': alsoViolating(
      ['rpc.coherence.head'],
      row('Every second item of a batch is served by a replica that is 4 blocks behind.', (_, { rpc }) => ({
        nodeLag: (__, item) => (item % 2) * (rpc.headLag + 4),
      })),
    ),
  },
  'rpc.coherence.final': {
    'old-blocks-replaced': alsoViolating(
      // A twin may ask for the block before and after.
      ['twin.result'],
      counted('The first block gets another hash with each request for it.', asks('"earliest"'), 'hash'),
    ),
  },
  'rpc.coherence.block': {
    'block-changes': alsoViolating(
      ['twin.result'],
      counted('A block has another state root with each request.', asks('"eth_getBlockByNumber"'), 'stateRoot'),
    ),
    'block-time-changes': row('The last block has another timestamp in every second response.', (honest, contract) => {
      let asked = 0
      const moved = (text: string) =>
        ++asked % 2 === 0
          ? text
          : text.replace(/"timestamp":"(0x[0-9a-f]+)"/, (_, at) => `"timestamp":"0x${(Number(at) + 1).toString(16)}"`)
      const change = changeReplies(asks('"latest"'), reply => withText(reply, moved(replyText(reply))))
      return change(honest, contract)
    }),
    'logs-of-another-transaction': replies('Logs name a transaction of another block.', asks('"eth_getLogs"'), reply =>
      withText(reply, replyText(reply).replace(/"transactionHash":"0x[0-9a-f]{8}/, '"transactionHash":"0x00000000')),
    ),
    // The next block may not be the head yet.
    'logs-of-another-block': alsoViolating(
      ['rpc.coherence.head'],
      replies('Logs name the number of the next block.', asks('"eth_getLogs"'), reply => {
        const next = (_: string, number: string) => `"blockNumber":"0x${(Number(number) + 1).toString(16)}"`
        return withText(reply, replyText(reply).replace(/"blockNumber":"(0x[0-9a-f]+)"/, next))
      }),
    ),
    'receipt-status-changes': row('A receipt has the status 0x0 in every second response.', (honest, contract) => {
      let asked = 0
      const flipped = (text: string) => (++asked % 2 === 0 ? text.replace('"status":"0x1"', '"status":"0x0"') : text)
      return changeReplies(receipts, reply => withText(reply, flipped(replyText(reply))))(honest, contract)
    }),
    'receipt-has-more-gas': inReceipts('The last receipt has more gas than it adds up.', all =>
      all.with(-1, plusOne(all.at(-1), 'gasUsed')),
    ),
    'receipts-add-up-to-more': inReceipts('The receipts add up to more gas than the block has.', all =>
      all.with(-1, plusOne(all.at(-1), 'cumulativeGasUsed')),
    ),
    'receipt-of-another-block': inReceipts('The last receipt has another block hash.', all =>
      all.with(-1, { ...all.at(-1), blockHash: otherHash }),
    ),
    'receipt-of-another-place': inReceipts('The last receipt has the index of the next transaction.', all =>
      all.with(-1, plusOne(all.at(-1), 'transactionIndex')),
    ),
    'receipts-lack-one': inReceipts('The receipts of a block lack the last one.', all => all.slice(0, -1)),
    'logs-lack-one': inResult('A query for all logs lacks the last one.', 'eth_getLogs', all => all.slice(0, -1)),
    'logs-have-one-more': inResult('A query for logs has one that no receipt has.', 'eth_getLogs', all => [
      ...all,
      ...all.slice(-1).map(log => plusOne(log, 'logIndex')),
    ]),
    'log-of-another-address': inResult('Logs have another address than in receipts.', 'eth_getLogs', all =>
      all.map(log => ({ ...log, address: otherHash.slice(0, 42) })),
    ),
    'bloom-lacks-a-log': replies(
      'The logsBloom of a block lacks bits of its logs.',
      asks('"eth_getBlockByNumber"'),
      reply => withText(reply, replyText(reply).replace(/(?<="logsBloom":"0x0*)[1-9a-f]/, '0')),
    ),
  },
  'rpc.protocol.empty-batch': {
    'empty-batch-answered-empty': replies('An empty batch gets an empty list.', says('empty batch'), setText('[]')),
    'empty-batch-in-a-list': replies('An empty batch gets a list of one error.', says('empty batch'), reply =>
      withText(reply, `[${replyText(reply)}]`),
    ),
  },
  'rpc.batch.limit': {
    'batch-one-larger': addTo('The batch limit is one too high.', 'batchLimit', 1),
    'batch-limit-is-413-on-solana': replies(
      'A batch of more than 100 items on Solana returns 413.',
      all(isOf('rpc', 400), says('must not have more'), (_, { request }) => request.path.includes('solana')),
      setStatus(413),
    ),
    'batch-of-any-size': always('A batch may have any number of items.', { batchLimit: Number.POSITIVE_INFINITY }),
  },
  'rpc.batch.full': {
    'batch-one-smaller': addTo('The batch limit is one too low.', 'batchLimit', -1),
    'full-batch-refused-on-solana': alsoViolating(
      ['rpc.refused.free', 'billing.conservation'],
      replies(
        'A full batch on Solana returns 400.',
        all(isNodeReply, fillsSolanaBatch),
        setStatus(400),
        setText('{"error":"A batch must not have more items"}'),
      ),
    ),
    'batch-of-fifty': row('The batch limit is half of the documented one.', honest => ({
      batchLimit: Math.floor(honest.batchLimit / 2),
    })),
  },
  'rpc.protocol.batch-limit': {
    'long-batches-run': always('The node has no limit of batches.', { batchLimit: Number.POSITIVE_INFINITY }),
  },
  'rpc.protocol.notification': {
    'notification-answered': replies('A notification gets a result.', all(isNodeReply, isSilent), served),
    'notification-answered-in-batches': replies(
      'A notification in a batch gets a result.',
      asks('"id":"asked"'),
      reply => withText(reply, replyText(reply).replace('[', '[{"jsonrpc":"2.0","result":"0x1"},')),
    ),
  },
  'rpc.protocol.id': {
    'empty-id-lost': replies('An empty id is returned as null.', says('"id":""'), reply =>
      withText(reply, replyText(reply).replace('"id":""', '"id":null')),
    ),
    'long-ids-cut': replies('Ids are cut at 64 characters.', asks('i'.repeat(200)), reply =>
      withText(reply, replyText(reply).replace(/i{200}/, 'i'.repeat(64))),
    ),
  },
  'rpc.protocol.params': {
    'deep-params-are-500': replies('Deep params get a 500.', asks('[[[[['), setStatus(500)),
    'large-params-lost': replies(
      'The error for large params has no id.',
      asks('0'.repeat(10_000)),
      failed(-32_700, null),
    ),
  },
} satisfies Lies
