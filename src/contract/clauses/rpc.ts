import type { Clauses } from '../clause.ts'

/** The RPC proxy. */
export const rpcClauses = {
  'rpc.content-type': {
    section: '4.3',
    says: 'The content type of an RPC answer is application/json.',
    judges: ['rpc-answer'],
  },
  'rpc.response': {
    section: '4.3',
    says: 'A JSON-RPC response has jsonrpc 2.0 and either a result or an error object.',
    judges: ['rpc-answer'],
  },
  'rpc.response.error': {
    section: '4.3',
    says: 'The error of an item has an integer code and a message.',
    judges: ['rpc-answer'],
    basis: 'profile',
  },
  'rpc.id': { section: '4.3', says: 'The id of a request is echoed back.', judges: ['rpc-answer'] },
  'rpc.batch.correlation': {
    section: '4.3',
    says: 'A batch is answered with one response for each of its ids.',
    judges: ['rpc-answer'],
  },
  'rpc.item-failure.status': {
    section: '4.3',
    says: 'A failing item leaves the HTTP status at 200.',
    judges: ['rpc-answer'],
  },
  'rpc.item-failure.alone': {
    section: '4.3',
    says: 'An item of a batch that fails leaves the others as they are.',
    judges: ['rpc-answer'],
  },
  'rpc.unsupported-method': {
    section: '4.3',
    says: 'A method that is not on the allow-list is answered with 400.',
    judges: ['probe'],
  },
  'rpc.unsupported-method.websocket': {
    section: '4.3',
    says: 'A method that needs a WebSocket is answered with 400: subscriptions, of EVM networks and of Solana.',
    judges: ['probe'],
  },
  'rpc.unsupported-method.filter': {
    section: '4.3',
    says: 'Each of the six stateful filter methods is answered with 400.',
    judges: ['probe'],
  },
  'rpc.unsupported-method.keys': {
    section: '4.3',
    says: 'Each of the six miner and key-holding methods is answered with 400.',
    judges: ['probe'],
  },
  'rpc.unsupported-method.family': {
    section: '4.3',
    says: "A method of another family of networks is not on a network's allow-list.",
    judges: ['probe'],
    basis: 'profile',
  },
  'rpc.batch.rejected': {
    section: '4.3',
    says: 'A batch with a method that is not supported is rejected as a whole with 400.',
    judges: ['probe'],
  },
  'rpc.unsupported-method.named': {
    section: '4.3',
    says: 'The error message of a rejected batch names every offending method.',
    judges: ['probe'],
  },
  'rpc.batch.limit': {
    section: '4.3',
    says: 'A batch of more than 100 items is answered with 400.',
    judges: ['probe'],
  },
  'rpc.batch.full': {
    section: '4.3',
    says: 'A batch may have 100 items.',
    judges: ['rpc-answer'],
    needs: 'a batch of as many items as are allowed',
  },
  'rpc.network': {
    section: '4.3',
    says: 'A network that is not on the list is answered with 400.',
    judges: ['probe'],
    basis: 'profile',
  },
  'rpc.request': {
    section: '7',
    says: 'A request that is no JSON-RPC 2.0 is answered with 400: jsonrpc is 2.0, method a string, params a list.',
    judges: ['probe'],
    basis: 'profile',
  },
  'rpc.alternatives': {
    section: '4.3',
    says: 'eth_getLogs and eth_sendRawTransaction are there in place of filters and of keys.',
    judges: ['probe'],
  },
  'rpc.refused.free': {
    section: '4.3',
    says: 'A request that is refused as a whole is not charged.',
    judges: ['ledger'],
  },
  'rpc.credits.header': {
    section: '4.3',
    says: 'An RPC answer states the credits charged, as an integer.',
    judges: ['rpc-credits'],
  },
  'rpc.credits.amount': {
    section: '4.3',
    says: "Credits are the chain's base credits times the multiplier of the method's tier, summed over a batch.",
    judges: ['rpc-credits'],
  },
  'rpc.batch.error-price': {
    section: '4.3',
    says: 'An item of a batch that returns an error is billed 5 credits.',
    judges: ['rpc-credits'],
  },
  'rpc.cost.header': {
    section: '4.3',
    says: 'An RPC answer states its cost in USD, as a decimal string.',
    judges: ['rpc-credits'],
  },
  'rpc.cost.amount': {
    section: '4.3',
    says: 'The cost is the credits times the price of a credit.',
    judges: ['rpc-credits'],
  },
  'rpc.request-id': { section: '4.3', says: 'An RPC answer carries X-Request-ID.', judges: ['rpc-answer'] },
  'rpc.request-id.unique': {
    section: '4.3',
    says: 'X-Request-ID identifies one request; only a replay repeats it.',
    judges: ['uniqueness'],
  },
} as const satisfies Clauses
