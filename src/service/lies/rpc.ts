import type { ClauseId } from '../../contract/clauses.ts'
import { unsupportedMethods } from '../../contract/rpc-methods.ts'
import { isErrorResponse, type RpcResponse } from '../rpc/item.ts'
import {
  amended,
  failingSometimes,
  isBatch,
  isNodeReply,
  isReplay,
  type Lie,
  type Lies,
  lie,
  replyLie,
  replyText,
  withHeader,
  withoutHeaders,
  withText,
} from './lie.ts'

/** A lie that replaces the error of failing items. */
const errorOf =
  (error: unknown): Lie['overrides'] =>
  honest => ({
    responses: (responses, items) =>
      honest
        .responses(responses, items)
        .map((response, index) => (isFailed(responses[index]) ? amended(response, { error }) : response)),
  })

const hasFailure = (text: string): boolean => text.includes('"error":{"code":')

const isFailed = (response: RpcResponse | undefined): boolean => response !== undefined && isErrorResponse(response)

/** Clauses that are also violated when unsupported methods are forwarded, since their batches run. */
const batchClauses: readonly ClauseId[] = ['rpc.batch.rejected', 'rpc.unsupported-method.named']

/** A lie that forwards methods that must be rejected. */
const forwarding = (name: string, text: string, methods: readonly string[], also: readonly ClauseId[] = []): Lie =>
  lie(
    name,
    text,
    honest => ({ forwards: (method, network) => methods.includes(method) || honest.forwards(method, network) }),
    [...batchClauses, ...also],
  )

const returningStatus = (name: string, text: string, status: number, about: string, also: readonly ClauseId[]): Lie =>
  replyLie(
    name,
    text,
    reply => (reply.status === 400 && replyText(reply).includes(about) ? { ...reply, status } : reply),
    also,
  )

/** A lie that returns the node's own error with status 200. */
const forwardedToNode = (name: string, text: string, about: string): Lie =>
  replyLie(name, text, reply => {
    const text = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}'
    return reply.status === 400 && replyText(reply).includes(about) ? withText({ ...reply, status: 200 }, text) : reply
  })

const withoutMethod = (name: string, text: string, without: string): Lie =>
  lie(name, text, honest => ({ forwards: (method, network) => method !== without && honest.forwards(method, network) }))

const everyKind: readonly ClauseId[] = [
  'rpc.unsupported-method.websocket',
  'rpc.unsupported-method.filter',
  'rpc.unsupported-method.keys',
  'rpc.unsupported-method.family',
]

const {
  'websocket-only': subscriptions,
  'websocket-only-solana': solanaSubscriptions,
  'stateful-filter': filters,
  'key-holding': holders,
} = unsupportedMethods

const known: readonly string[] = Object.values(unsupportedMethods).flat()

export const rpcLies = {
  'rpc.status': [
    replyLie('rpc-created', 'JSON-RPC responses have the status 201.', (reply, state) =>
      isNodeReply(reply, state) ? { ...reply, status: 201 } : reply,
    ),
    replyLie('failures-are-multi-status', 'A batch with a failing item has the status 207.', (reply, state) =>
      isNodeReply(reply, state) && isBatch(reply) && hasFailure(replyText(reply)) ? { ...reply, status: 207 } : reply,
    ),
    replyLie('replay-accepted', 'A replay has the status 202.', (reply, state) =>
      isNodeReply(reply, state) && isReplay(reply) ? { ...reply, status: 202 } : reply,
    ),
  ],
  'rpc.content-type': [
    replyLie('rpc-as-text', 'RPC responses are text/plain.', (reply, state) =>
      isNodeReply(reply, state) ? withHeader(reply, 'content-type', 'text/plain') : reply,
    ),
    replyLie('type-of-the-node', 'Responses with an error have the content type of the node.', (reply, state) =>
      isNodeReply(reply, state) && hasFailure(replyText(reply))
        ? withHeader(reply, 'content-type', 'application/json-rpc')
        : reply,
    ),
  ],
  'rpc.response': [
    lie('response-without-jsonrpc', 'Responses lack jsonrpc.', honest => ({
      responses: (responses, items) =>
        honest.responses(responses, items).map(response => amended(response, { jsonrpc: undefined })),
    })),
    lie('response-of-version-1', 'Responses have jsonrpc 1.0.', honest => ({
      responses: (responses, items) =>
        honest.responses(responses, items).map(response => amended(response, { jsonrpc: '1.0' })),
    })),
    lie('result-beside-error', 'A failing item has both a result and an error.', honest => ({
      responses: (responses, items) =>
        honest
          .responses(responses, items)
          .map((response, index) => (isFailed(responses[index]) ? amended(response, { result: '0x' }) : response)),
    })),
    lie('error-as-text', 'The error of an item is a string.', honest => ({
      responses: (responses, items) =>
        honest
          .responses(responses, items)
          .map((response, index) =>
            isFailed(responses[index]) ? amended(response, { error: 'invalid params' }) : response,
          ),
    })),
    lie('response-without-result', 'A response has neither result nor error.', honest => ({
      responses: (responses, items) =>
        honest.responses(responses, items).map(response => amended(response, { result: undefined, error: undefined })),
    })),
  ],
  'rpc.response.error': [
    lie(
      'error-code-as-text',
      'The code of an error is a string.',
      errorOf({ code: '-32602', message: 'invalid params' }),
    ),
    lie('error-without-message', 'An error has no message.', errorOf({ code: -32602 })),
    lie('error-code-of-http', 'An error has a status instead of a code.', errorOf({ status: 400, message: 'invalid' })),
  ],
  'rpc.id': [
    failingSometimes(
      'text-id-is-sometimes-502',
      'Two of five single requests with a string id return 502.',
      text => text.includes('"id":"r-') && !text.startsWith('['),
    ),
    lie('id-as-text', 'The id in the response to a single request is a string.', honest => ({
      responses: (responses, items) =>
        items.length === 1
          ? honest.responses(responses, items).map(response => amended(response, { id: String(items[0]?.id) }))
          : honest.responses(responses, items),
    })),
    lie('text-id-lost', 'The response to a single request with a string id has the id null.', honest => ({
      responses: (responses, items) =>
        items.length === 1 && typeof items[0]?.id === 'string'
          ? honest.responses(responses, items).map(response => amended(response, { id: null }))
          : honest.responses(responses, items),
    })),
    lie('id-of-the-proxy', "The response to a single request has the proxy's upstream id.", honest => {
      let forwarded = 1_000_000
      return {
        responses: (responses, items) =>
          items.length === 1
            ? honest.responses(responses, items).map(response => amended(response, { id: ++forwarded }))
            : honest.responses(responses, items),
      }
    }),
  ],
  'rpc.batch.correlation': [
    lie('item-missing', 'The last item of a batch has no response.', honest => ({
      responses: (responses, items) => {
        const sent = honest.responses(responses, items)
        return items.length > 1 ? sent.slice(0, -1) : sent
      },
    })),
    lie('item-twice', 'The first item of a batch has two responses.', honest => ({
      responses: (responses, items) => {
        const sent = honest.responses(responses, items)
        return items.length > 1 ? [...sent, sent[0]] : sent
      },
    })),
    lie('ids-by-position', 'The responses in a batch have their positions as ids.', honest => ({
      responses: (responses, items) => {
        const sent = honest.responses(responses, items)
        return items.length > 1 ? sent.map((response, index) => amended(response, { id: `#${index}` })) : sent
      },
    })),
    lie('id-of-the-neighbour', 'The response to the last item of a batch has the id of the first.', honest => ({
      responses: (responses, items) => {
        const sent = honest.responses(responses, items)
        const id = items[0]?.id
        return items.length > 1 ? [...sent.slice(0, -1), amended(sent.at(-1), { id })] : sent
      },
    })),
  ],
  'rpc.item-failure.status': [
    replyLie('failed-call-is-500', 'A single call that fails returns 500.', (reply, state) =>
      isNodeReply(reply, state) && !isBatch(reply) && hasFailure(replyText(reply)) ? { ...reply, status: 500 } : reply,
    ),
    replyLie(
      'failed-batch-is-400',
      'A batch with a failing item returns 400.',
      (reply, state) =>
        isNodeReply(reply, state) && isBatch(reply) && hasFailure(replyText(reply)) ? { ...reply, status: 400 } : reply,
      ['error.object'],
    ),
    failingSometimes(
      'failed-batch-is-sometimes-502',
      'Two of five batches with a failing item return 502.',
      text => text.startsWith('[') && hasFailure(text),
    ),
  ],
  'rpc.item-failure.alone': [
    lie(
      'failure-of-all',
      'If one item of a batch fails, all items fail.',
      honest => ({
        responses: (responses, items) => {
          const failure = items.length > 1 ? responses.find(isErrorResponse) : undefined
          const error = failure !== undefined && 'error' in failure ? failure.error : undefined
          return honest
            .responses(responses, items)
            .map(response => (error === undefined ? response : amended(response, { result: undefined, error })))
        },
      }),
      ['rpc.credits.amount', 'rpc.batch.error-price'],
    ),
  ],
  'rpc.request-id': [
    replyLie('no-request-id', 'RPC responses have no X-Request-ID.', reply => withoutHeaders(reply, 'x-request-id')),
    replyLie('no-request-id-on-batches', 'Responses to batches have no X-Request-ID.', reply =>
      isBatch(reply) ? withoutHeaders(reply, 'x-request-id') : reply,
    ),
  ],
  'rpc.request-id.unique': [
    lie('request-id-of-the-account', 'All RPC responses to an account have the X-Request-ID of its first.', honest => {
      const first = new Map<string, string>()
      return {
        finish: (reply, state) => {
          const finished = honest.finish(reply, state)
          const { 'x-request-id': id } = finished.headers
          if (state.account === null || id === undefined || isReplay(finished)) return finished
          const shown = first.get(state.account.name) ?? id
          first.set(state.account.name, shown)
          return withHeader(finished, 'x-request-id', shown)
        },
      }
    }),
    lie('request-id-twice', 'Every second new RPC response repeats the X-Request-ID of the previous one.', honest => {
      let last = ''
      return {
        finish: (reply, state) => {
          const finished = honest.finish(reply, state)
          const { 'x-request-id': id } = finished.headers
          if (id === undefined || isReplay(finished)) return finished
          const shown = last === '' ? id : last
          last = last === '' ? id : ''
          return withHeader(finished, 'x-request-id', shown)
        },
      }
    }),
  ],
  'rpc.unsupported-method': [
    lie('no-allow-list', 'Every method is forwarded.', () => ({ forwards: () => true }), [
      ...everyKind,
      ...batchClauses,
    ]),
    lie(
      'deny-list',
      'Every method that is not known to be unsupported is forwarded.',
      () => ({ forwards: method => !known.includes(method) }),
      ['rpc.unsupported-method.family', ...batchClauses],
    ),
    lie('allow-list-with-prototype', 'Properties of every JavaScript object are on the allow-list.', honest => ({
      forwards: (method, network) => method === 'constructor' || honest.forwards(method, network),
    })),
    returningStatus('unsupported-is-404', 'An unsupported method returns 404.', 404, 'Unsupported RPC method', [
      ...everyKind,
      'rpc.batch.rejected',
    ]),
  ],
  'rpc.unsupported-method.websocket': [
    forwarding('subscriptions-forwarded', 'EVM subscriptions are forwarded.', subscriptions),
    forwarding('unsubscribe-forwarded', 'eth_unsubscribe is forwarded.', ['eth_unsubscribe']),
    forwarding('solana-subscriptions-forwarded', 'Solana subscriptions are forwarded.', solanaSubscriptions),
  ],
  'rpc.unsupported-method.filter': [
    forwarding('filters-forwarded', 'Stateful filter methods are forwarded.', filters),
    forwarding('filter-logs-forwarded', 'eth_getFilterLogs is forwarded.', ['eth_getFilterLogs']),
    forwarding('filter-uninstall-forwarded', 'eth_uninstallFilter is forwarded.', ['eth_uninstallFilter']),
  ],
  'rpc.unsupported-method.keys': [
    forwarding('key-methods-forwarded', 'Miner and key-holding methods are forwarded.', holders),
    forwarding('miner-methods-forwarded', 'Miner methods are forwarded.', [
      'eth_mining',
      'eth_hashrate',
      'eth_getWork',
      'eth_submitWork',
    ]),
    forwarding('accounts-forwarded', 'eth_accounts is forwarded.', ['eth_accounts']),
  ],
  'rpc.unsupported-method.family': [
    lie('one-list-for-all-families', 'A method of any family is forwarded to any network.', (honest, { rpc }) => ({
      forwards: (method, network) =>
        Object.values(rpc.methods).some(methods => Object.hasOwn(methods, method)) || honest.forwards(method, network),
    })),
    lie('solana-takes-evm-methods', 'EVM methods are forwarded to Solana.', (honest, { rpc }) => ({
      forwards: (method, network) =>
        (network.family === 'solana' && Object.hasOwn(rpc.methods.evm, method)) || honest.forwards(method, network),
    })),
  ],
  'rpc.batch.rejected': [
    lie('batch-runs-in-part', 'A batch runs when one of its methods is supported.', () => ({
      runs: (unsupported, items) => unsupported < items || unsupported === 0,
    })),
    lie('batch-runs-by-its-first', 'A batch of several items runs whatever its methods are.', () => ({
      runs: (unsupported, items) => unsupported === 0 || items > 1,
    })),
    lie('one-offender-tolerated', 'A batch of several items runs with one unsupported method.', () => ({
      runs: (unsupported, items) => unsupported === 0 || (unsupported === 1 && items > 1),
    })),
  ],
  'rpc.unsupported-method.named': [
    lie('first-method-named', 'Only the first unsupported method of a batch is named.', honest => ({
      named: methods => honest.named(methods).slice(0, 1),
    })),
    lie('last-method-not-named', 'The last unsupported method of a batch is not named.', honest => ({
      named: methods => (methods.length > 1 ? honest.named(methods).slice(0, -1) : honest.named(methods)),
    })),
    lie('no-method-named', 'Unsupported methods are not named.', () => ({ named: () => [] })),
    lie('ten-methods-named', 'At most ten unsupported methods are named.', honest => ({
      named: methods => honest.named(methods).slice(0, 10),
    })),
    lie('subscriptions-named-alone', 'If a batch has subscriptions, no other unsupported method is named.', honest => ({
      named: methods => {
        const sockets = methods.filter(method => /subscribe$/i.test(method))
        return honest.named(sockets.length === 0 ? methods : sockets)
      },
    })),
  ],
  'rpc.batch.limit': [
    lie('batch-one-larger', 'The batch limit is one too high.', honest => ({ batchLimit: honest.batchLimit + 1 })),
    lie('batch-of-any-size', 'A batch may have any number of items.', () => ({ batchLimit: Number.POSITIVE_INFINITY })),
  ],
  'rpc.batch.full': [
    lie('batch-one-smaller', 'The batch limit is one too low.', honest => ({ batchLimit: honest.batchLimit - 1 })),
    lie('batch-of-fifty', 'The batch limit is half of the documented one.', honest => ({
      batchLimit: Math.floor(honest.batchLimit / 2),
    })),
  ],
  'rpc.network': [
    returningStatus('unknown-network-is-404', 'An unknown network returns 404.', 404, 'RPC network', []),
    lie('unknown-network-is-the-first', 'An unknown network is treated as the first one.', honest => ({
      network: (slug, networks) => honest.network(slug, networks) ?? [...networks.values()][0],
    })),
  ],
  'rpc.request': [
    forwardedToNode('version-left-to-node', 'Another version of JSON-RPC is forwarded to the node.', 'jsonrpc must'),
    forwardedToNode('method-left-to-node', 'An invalid method is forwarded to the node.', 'method must'),
    forwardedToNode('params-left-to-node', 'Parameters that are not a list are forwarded to the node.', 'params must'),
    returningStatus('no-json-is-500', 'A body that is not JSON returns 500.', 500, 'Invalid JSON request', []),
  ],
  'rpc.alternatives': [
    withoutMethod('no-logs', 'eth_getLogs is not supported.', 'eth_getLogs'),
    withoutMethod('no-raw-transactions', 'eth_sendRawTransaction is not supported.', 'eth_sendRawTransaction'),
  ],
  'rpc.refused.free': [
    lie('rejected-batch-billed', 'The supported items of a rejected batch are billed.', (honest, { rpc }) => ({
      rejectionCredits: supported =>
        honest.rejectionCredits(supported) + supported * (Object.values(rpc.networks)[0]?.baseCredits ?? 0),
    })),
    lie(
      'every-refusal-billed',
      'Every request that the proxy rejects is billed as a failing item.',
      (honest, { rpc }) => ({
        finish: (reply, state) => {
          const { account, route } = state
          if (route.kind === 'rpc' && account !== null && reply.status >= 400 && reply.status < 500)
            honest.charge(account, { currency: 'usd', pico: honest.costPicoUsd(rpc.errorItemCredits) })
          return honest.finish(reply, state)
        },
      }),
      ['billing.conservation', 'billing.balance-before'],
    ),
    lie('rejection-billed-as-failure', 'A rejected request is billed as a failing item.', (honest, { rpc }) => ({
      rejectionCredits: supported => honest.rejectionCredits(supported) + rpc.errorItemCredits,
    })),
  ],
} satisfies Lies
