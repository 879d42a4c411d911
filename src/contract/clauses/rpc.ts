import type { ClauseRows } from '../clause.ts'
import { money } from './billing.ts'

const credits = ['rpc.credits.amount', 'rpc.batch.error-price', 'rpc.cost.amount'] as const

/** The RPC proxy. */
export const rpcClauses = {
  'rpc.status': ['4.3', 'rpc-response', 'A JSON-RPC response, single or batch, has the status 200.'],
  'rpc.content-type': ['4.3', 'rpc-response', 'The content type of an RPC response is application/json.'],
  'rpc.response': [
    '4.3',
    'rpc-response',
    'A JSON-RPC response has jsonrpc 2.0 and either a result or an error object.',
    { hides: ['JSON-RPC responses are malformed', ['rpc.response.error', ...credits]] },
  ],
  'rpc.response.error': ['4.3', 'rpc-response', 'The error of an item has an integer code and a message.', { source: 'profile', exercisedBy: 'failing-item' }],
  'rpc.id': [
    '4.3',
    ['rpc-response', 'dependent-errors', 'probe'],
    'The id of a request is echoed back.',
    { exercisedBy: 'rpc', hides: ['responses cannot be matched with items', ['rpc.item-failure.alone', ...credits]] },
  ],
  'rpc.batch.correlation': [
    '4.3',
    'rpc-response',
    'A batch gets one response for each of its ids.',
    {
      exercisedBy: 'batch',
      hides: ['responses cannot be matched with items', ['rpc.id', 'rpc.response', 'rpc.response.error', 'rpc.item-failure.alone', ...credits]],
    },
  ],
  'rpc.item-failure.status': [
    '4.3',
    ['rpc-response', 'dependent-errors'],
    'With a failing item, the HTTP status stays 200.',
    {
      exercisedBy: 'failing-item',
      hides: ['a failing item fails the whole request', ['rpc.item-failure.alone', 'rpc.batch.error-price', 'rpc.response.error']],
    },
  ],
  'rpc.item-failure.alone': [
    '4.3',
    ['rpc-response', 'dependent-errors'],
    'A failing item of a batch does not affect the other items.',
    { exercisedBy: 'failing-batch' },
  ],
  'rpc.unsupported-method': ['4.3', 'probe', 'A method that is not on the allow-list gets a 400.'],
  'rpc.unsupported-method.websocket': ['4.3', 'probe', 'A method that needs a WebSocket gets a 400: subscriptions on EVM networks and on Solana.'],
  'rpc.unsupported-method.filter': ['4.3', 'probe', 'Each of the six stateful filter methods gets a 400.'],
  'rpc.unsupported-method.keys': ['4.3', 'probe', 'Each of the six miner and key-holding methods gets a 400.'],
  'rpc.unsupported-method.family': ['4.3', 'probe', "A network's allow-list has no methods of other network families.", { source: 'profile' }],
  'rpc.batch.rejected': ['4.3', 'probe', 'A batch with an unsupported method is rejected as a whole with 400.'],
  'rpc.unsupported-method.named': ['4.3', 'probe', 'The error message of a rejected batch names every offending method.'],
  'rpc.batch.limit': ['4.3', 'probe', 'A batch of more than 100 items gets a 400.'],
  'rpc.batch.full': ['4.3', 'rpc-response', 'A batch may have 100 items.', { needs: 'a batch with the maximum number of items', exercisedBy: 'batch' }],
  'rpc.network': ['4.3', 'probe', 'A request for a network that is not on the list gets a 400, or a 404 as a path that does not exist.', { source: 'profile' }],
  'rpc.network.listed': [
    '4.3',
    ['rpc-response', 'probe'],
    'A call on a network of the list is not refused as one on an unknown network.',
    { exercisedBy: 'rpc' },
  ],
  'rpc.request': ['7', 'probe', 'A request that is not JSON-RPC 2.0 gets a 400: jsonrpc is 2.0, method a string, params a list.', { source: 'profile' }],
  'rpc.alternatives': ['4.3', 'probe', 'eth_getLogs and eth_sendRawTransaction are available as alternatives to filters and keys.'],
  'rpc.refused.free': [
    '4.3',
    ['ledger', 'rpc-credits'],
    'A request that is rejected as a whole is not charged.',
    { unseen: 'the RPC proxy rejected no request as a whole' },
  ],
  'rpc.credits.header': ['4.3', 'rpc-credits', 'An RPC response states the charged credits as an integer.', { hides: ['responses state no credits', credits] }],
  'rpc.credits.amount': [
    '4.3',
    ['rpc-credits', 'implied-credits'],
    "Credits are the chain's base credits times the multiplier of the method's tier, summed over a batch.",
  ],
  'rpc.batch.error-price': [
    '4.3',
    ['rpc-credits', 'implied-credits'],
    'An item of a batch that returns an error is billed 5 credits.',
    { exercisedBy: 'failing-batch' },
  ],
  'rpc.cost.header': [
    '4.3',
    'rpc-credits',
    'An RPC response states its cost in USD as a decimal string.',
    { hides: ['responses state no cost', ['rpc.cost.amount', ...money]] },
  ],
  'rpc.cost.amount': ['4.3', 'rpc-credits', 'The cost is the credits times the price of a credit.'],
  'rpc.request-id': ['4.3', 'rpc-response', 'An RPC response has X-Request-ID.', { hides: ['responses have no X-Request-ID', ['rpc.request-id.unique']] }],
  'rpc.request-id.unique': ['4.3', 'unique-ids', 'X-Request-ID identifies one request; only a replay repeats it.', { exercisedBy: 'rpc' }],
} satisfies ClauseRows

const coherent = { source: 'profile', isExtra: true, exercisedBy: 'rpc' } as const
const protocol = { source: 'profile', isExtra: true, needs: 'a profile that promises it' } as const

/** Rules of JSON-RPC 2.0 that the document leaves to the node. */
export const rpcProtocolClauses = {
  'rpc.protocol.no-json': ['4.3', 'probe', 'A request that is not JSON gets one error with the code -32700.', protocol],
  'rpc.protocol.version': ['4.3', 'probe', 'A request without jsonrpc 2.0 gets the error -32600.', protocol],
  'rpc.protocol.unknown-method': ['4.3', 'probe', 'A method that does not exist gets the error -32601, or -32004 of EIP-1474.', protocol],
  'rpc.protocol.empty-batch': ['4.3', 'probe', 'An empty batch gets one error with the code -32600, and no list.', protocol],
  'rpc.protocol.batch-limit': ['4.3', 'probe', 'A batch that is longer than the limit gets no result.', protocol],
  'rpc.protocol.notification': ['4.3', 'probe', 'A request without an id gets no response, alone and in a batch.', protocol],
  'rpc.protocol.id': ['4.3', 'probe', 'A number or a string of any kind is returned as the id.', protocol],
  'rpc.protocol.params': ['4.3', 'probe', 'Deep and large params get a response with the id of the request, or a status of a refusal.', protocol],
} satisfies ClauseRows

/** What the nodes of a network said before. The document leaves it to them, too. */
export const rpcCoherenceClauses = {
  'rpc.coherence.head': [
    '4.3',
    'coherence',
    'The number of the last block does not go back, or at most as far as the profile says.',
    { ...coherent, needs: 'calls that ask for the last block, or for its number' },
  ],
  'rpc.coherence.block': [
    '4.3',
    'coherence',
    'A block hash stands for one block: its number, parent, roots, time, gas and transactions. Its receipts and logs agree with it, and with each other.',
    { ...coherent, needs: 'calls whose results name one block twice' },
  ],
  'rpc.coherence.final': [
    '4.3',
    'coherence',
    'The block of a number that is deeper than a reorganization reaches keeps its hash.',
    { ...coherent, source: 'profile', needs: 'a profile with rpc.reorgDepth, and calls whose results name an old block twice' },
  ],
  'rpc.coherence.batch': [
    '4.3',
    'coherence',
    'The items of a batch see one state: the numbers of the last block in it are those of one moment.',
    { ...coherent, needs: 'batches that ask several times for the number of the last block' },
  ],
} satisfies ClauseRows
