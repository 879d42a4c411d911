import type { ClauseId } from '../../contract/clauses.ts'
import { unsupportedMethods } from '../../contract/rpc-methods.ts'
import { isErrorResponse, type ParsedItem, type RpcResponse } from '../rpc/item.ts'
import {
  alsoForward,
  always,
  amended,
  amendResponses,
  forwardEvmTo,
  forwardInAnyCase,
  forwardLike,
  onNetworks,
  refuseNetwork,
  result,
  withoutMethod,
} from './decisions.ts'
import { alsoViolating, type LieRow, type Lies, row } from './lie.ts'
import {
  all,
  dropHeaders,
  failSometimes,
  isBatch,
  isNodeReply,
  isOf,
  isReplay,
  keepFirstHeader,
  not,
  repeatHeader,
  replies,
  replyText,
  says,
  setHeader,
  setStatus,
  setText,
  withoutHeaders,
  withText,
} from './replies.ts'

const isEvery = (): boolean => true
const isFailed = (response: RpcResponse | undefined): boolean => response !== undefined && isErrorResponse(response)
const isSingle = (_: unknown, items: readonly ParsedItem[]): boolean => items.length === 1

/** Changes the responses to a batch. */
const changeBatch = (
  text: string,
  change: (sent: readonly unknown[], items: readonly ParsedItem[]) => readonly unknown[],
): LieRow => result(text, 'responses', (sent, _, items) => (items.length > 1 ? change(sent, items) : sent))

const failure = '"error":{"code":'
const hasFailure = all(isNodeReply, says(failure))

/** A gateway that fails after the failures were counted. */
const failing = (text: string, stream: string, fails: (text: string) => boolean): LieRow =>
  alsoViolating(['abuse.counts', 'abuse.message'], failSometimes(text, stream, fails))

/** Clauses that are also violated when unsupported methods are forwarded, since their batches run. */
const batchClauses: readonly ClauseId[] = ['rpc.batch.rejected', 'rpc.unsupported-method.named']

const everyKind: readonly ClauseId[] = [
  'rpc.unsupported-method.websocket',
  'rpc.unsupported-method.filter',
  'rpc.unsupported-method.keys',
  'rpc.unsupported-method.family',
]

/** Forwards methods that must be rejected. */
const forward = (text: string, methods: readonly string[]): LieRow =>
  alsoViolating(
    batchClauses,
    alsoForward(text, method => methods.includes(method)),
  )

/** Further kinds of methods that a probe may ask a network for. */
const anyMethodOn = (name: string, which: RegExp): LieRow =>
  alsoViolating(
    [...everyKind, ...batchClauses],
    onNetworks(`Every method is forwarded to ${name}.`, which, () => ({ forwards: () => true })),
  )

/** Another status for the bad requests with this message. */
const badRequestIs = (text: string, status: number, about: string): LieRow =>
  replies(text, all(isOf('rpc', 400), says(about)), setStatus(status))

/** The node's own error with status 200, for the bad requests with this message. */
const leftToNode = (text: string, about: string): LieRow =>
  replies(
    text,
    all(isOf('rpc', 400), says(about)),
    setText('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}'),
    setStatus(200),
  )

const {
  'websocket-only': subscriptions,
  'websocket-only-solana': solanaSubscriptions,
  'stateful-filter': filters,
  'key-holding': holders,
} = unsupportedMethods

const known: readonly string[] = Object.values(unsupportedMethods).flat()
const minerMethods = ['eth_mining', 'eth_hashrate', 'eth_getWork', 'eth_submitWork']

export const rpcLies = {
  'rpc.status': {
    'rpc-created': replies('JSON-RPC responses have the status 201.', isNodeReply, setStatus(201)),
    'failures-are-multi-status': replies(
      'A batch with a failing item has the status 207.',
      all(hasFailure, isBatch),
      setStatus(207),
    ),
    'replay-accepted': replies('A replay has the status 202.', all(isNodeReply, isReplay), setStatus(202)),
  },
  'rpc.content-type': {
    'rpc-as-text': replies('RPC responses are text/plain.', isNodeReply, setHeader('content-type', 'text/plain')),
    'type-of-the-node': replies(
      'Responses with an error have the content type of the node.',
      hasFailure,
      setHeader('content-type', 'application/json-rpc'),
    ),
  },
  'rpc.response': {
    'response-without-jsonrpc': amendResponses('Responses lack jsonrpc.', isEvery, { jsonrpc: undefined }),
    'response-of-version-1': amendResponses('Responses have jsonrpc 1.0.', isEvery, { jsonrpc: '1.0' }),
    'response-of-version-number': amendResponses('jsonrpc is a number.', isEvery, { jsonrpc: 2 }),
    'result-beside-error': amendResponses('A failing item has both a result and an error.', isFailed, { result: '0x' }),
    'error-as-text': amendResponses('The error of an item is a string.', isFailed, { error: 'invalid params' }),
    'response-without-result': amendResponses('A response has neither result nor error.', isEvery, {
      result: undefined,
      error: undefined,
    }),
  },
  'rpc.response.error': {
    'error-code-as-text': amendResponses('The code of an error is a string.', isFailed, {
      error: { code: '-32602', message: 'invalid params' },
    }),
    'error-without-message': amendResponses('An error has no message.', isFailed, { error: { code: -32602 } }),
    'error-code-of-http': amendResponses('An error has a status instead of a code.', isFailed, {
      error: { status: 400, message: 'invalid' },
    }),
  },
  'rpc.id': {
    'text-id-is-sometimes-502': failing(
      'Two of five single requests with a string id return 502.',
      'text-id-is-sometimes-502',
      text => text.includes('"id":"r-') && !text.startsWith('['),
    ),
    'id-as-text': amendResponses('The id in the response to a single request is a string.', isSingle, ([item]) => ({
      id: String(item?.id),
    })),
    'large-ids-rounded': alsoViolating(
      ['rpc.protocol.id', 'rpc.batch.correlation'],
      replies('Large ids are rounded.', says(`"id":${Number.MAX_SAFE_INTEGER}`), reply =>
        withText(reply, replyText(reply).replace(String(Number.MAX_SAFE_INTEGER), '9007199254740992')),
      ),
    ),
    'text-id-lost': alsoViolating(
      ['rpc.protocol.id'],
      amendResponses(
        'The response to a single request with a string id has the id null.',
        (_, items) => items.length === 1 && typeof items[0]?.id === 'string',
        { id: null },
      ),
    ),
    'id-of-zero-lost': alsoViolating(
      ['rpc.protocol.id'],
      amendResponses(
        'The response to a single request with the id 0 has the id null.',
        (_, items) => items.length === 1 && items[0]?.id === 0,
        { id: null },
      ),
    ),
    'id-of-the-proxy': row("The response to a single request has the proxy's upstream id.", honest => {
      let forwarded = 1_000_000
      return {
        responses: (responses, items) => {
          const sent = honest.responses(responses, items)
          return items.length === 1 ? sent.map(response => amended(response, { id: ++forwarded })) : sent
        },
      }
    }),
  },
  'rpc.batch.correlation': {
    'item-missing': changeBatch('The last item of a batch has no response.', sent => sent.slice(0, -1)),
    'item-twice': changeBatch('The first item of a batch has two responses.', sent => [...sent, sent[0]]),
    'ids-by-position': changeBatch('The responses in a batch have their positions as ids.', sent =>
      sent.map((response, index) => amended(response, { id: `#${index}` })),
    ),
    'id-of-the-neighbour': changeBatch(
      'The response to the last item of a batch has the id of the first.',
      (sent, [first]) => [...sent.slice(0, -1), amended(sent.at(-1), { id: first?.id })],
    ),
  },
  'rpc.item-failure.status': {
    'failed-call-is-500': replies(
      'A single call that fails returns 500.',
      all(hasFailure, not(isBatch)),
      setStatus(500),
    ),
    'failed-batch-is-400': alsoViolating(
      ['error.object', 'rpc.refused.free'],
      replies('A batch with a failing item returns 400.', all(hasFailure, isBatch), setStatus(400)),
    ),
    'failed-batch-is-sometimes-502': failing(
      'Two of five batches with a failing item return 502.',
      'failed-batch-is-sometimes-502',
      text => text.startsWith('[') && text.includes(failure),
    ),
  },
  'rpc.item-failure.alone': {
    'batch-fails-as-a-whole': alsoViolating(
      ['rpc.credits.amount', 'rpc.batch.error-price'],
      result(
        'If one item of a batch fails, the others get an internal error.',
        'responses',
        (sent, originals, items) => {
          const hasFailed = items.length > 1 && originals.some(isErrorResponse)
          if (!hasFailed) return sent
          const error = { code: -32_603, message: 'internal error' }
          return sent.map((each, index) => {
            const original = originals[index]
            return original === undefined || isErrorResponse(original)
              ? each
              : amended(each, { result: undefined, error })
          })
        },
      ),
    ),
    'failure-of-all': alsoViolating(
      ['rpc.credits.amount', 'rpc.batch.error-price'],
      result('If one item of a batch fails, all items fail.', 'responses', (sent, originals, items) => {
        const failed = items.length > 1 ? originals.find(isErrorResponse) : undefined
        if (failed === undefined || !('error' in failed)) return sent
        return sent.map(response => amended(response, { result: undefined, error: failed.error }))
      }),
    ),
  },
  'rpc.request-id': {
    'no-request-id': withoutHeaders('RPC responses have no X-Request-ID.', 'x-request-id'),
    'no-request-id-on-batches': replies(
      'Responses to batches have no X-Request-ID.',
      isBatch,
      dropHeaders('x-request-id'),
    ),
  },
  'rpc.request-id.unique': {
    'request-id-of-the-account': keepFirstHeader(
      'All RPC responses to an account have the X-Request-ID of its first.',
      'x-request-id',
      reply => !isReplay(reply),
    ),
    'request-id-twice': repeatHeader(
      'Every second new RPC response repeats the X-Request-ID of the previous one.',
      'x-request-id',
      reply => !isReplay(reply),
    ),
  },
  'rpc.unsupported-method': {
    'no-allow-list': alsoViolating(
      [...everyKind, ...batchClauses, 'rpc.protocol.unknown-method'],
      always('Every method is forwarded.', { forwards: () => true }),
    ),
    'deny-list': alsoViolating(
      ['rpc.unsupported-method.family', ...batchClauses, 'rpc.protocol.unknown-method'],
      always('Every method that is not known to be unsupported is forwarded.', {
        forwards: method => !known.includes(method),
      }),
    ),
    'zksync-takes-any-method': anyMethodOn('zkSync', /^zksync/),
    'avalanche-takes-any-method': anyMethodOn('Avalanche', /^avalanche/),
    'solana-devnet-takes-any-method': anyMethodOn('the devnet of Solana', /^solana-devnet/),
    'starknet-sepolia-takes-any-method': anyMethodOn('Starknet Sepolia', /^starknet-sepolia/),
    'allow-list-with-prototype': alsoForward(
      'Properties of every JavaScript object are on the allow-list.',
      method => method === 'constructor',
    ),
    'names-in-any-case': forwardInAnyCase('A method is forwarded in any letter case.', /^/),
    'net-names-in-any-case': forwardInAnyCase('A method of net is forwarded in any letter case.', /^net_/),
    'solana-names-in-any-case': forwardInAnyCase('A method of Solana is forwarded in any letter case.', /^[a-z]+$/i),
    'names-trimmed': forwardLike(
      'A method is forwarded with spaces around its name.',
      (method, listed) => method.trim() === listed,
    ),
    'trace-namespace-forwarded': alsoForward('Each method of the trace namespace is forwarded.', method =>
      method.startsWith('trace_'),
    ),
    'names-by-their-start': forwardLike(
      'A method is forwarded if its name starts with a listed one.',
      (method, listed) => method.startsWith(listed),
    ),
    'names-by-their-end': forwardLike('A method is forwarded if its name ends with a listed one.', (method, listed) =>
      method.endsWith(listed),
    ),
    'parts-of-names': forwardLike('A method is forwarded if its name is a part of a listed one.', (method, listed) =>
      listed.includes(method),
    ),
    'unsupported-is-404': alsoViolating(
      [...everyKind, 'rpc.batch.rejected'],
      badRequestIs('An unsupported method returns 404.', 404, 'Unsupported RPC method'),
    ),
  },
  'rpc.unsupported-method.websocket': {
    'subscriptions-forwarded': forward('EVM subscriptions are forwarded.', subscriptions),
    'unsubscribe-forwarded': forward('eth_unsubscribe is forwarded.', ['eth_unsubscribe']),
    'solana-subscriptions-forwarded': forward('Solana subscriptions are forwarded.', solanaSubscriptions),
  },
  'rpc.unsupported-method.filter': {
    'filters-forwarded': forward('Stateful filter methods are forwarded.', filters),
    'filter-logs-forwarded': forward('eth_getFilterLogs is forwarded.', ['eth_getFilterLogs']),
    'filter-uninstall-forwarded': forward('eth_uninstallFilter is forwarded.', ['eth_uninstallFilter']),
  },
  'rpc.unsupported-method.keys': {
    'key-methods-forwarded': forward('Miner and key-holding methods are forwarded.', holders),
    'miner-methods-forwarded': forward('Miner methods are forwarded.', minerMethods),
    'accounts-forwarded': forward('eth_accounts is forwarded.', ['eth_accounts']),
  },
  'rpc.unsupported-method.family': {
    'one-list-for-all-families': alsoForward('A method of any family is forwarded to any network.', (method, _, rpc) =>
      Object.values(rpc.methods).some(methods => Object.hasOwn(methods, method)),
    ),
    'solana-takes-evm-methods': forwardEvmTo('solana'),
    'starknet-takes-evm-methods': forwardEvmTo('starknet'),
  },
  'rpc.batch.rejected': {
    'batch-runs-in-part': always('A batch runs when one of its methods is supported.', {
      runs: (unsupported, items) => unsupported < items || unsupported === 0,
    }),
    'batch-runs-by-its-first': always('A batch of several items runs whatever its methods are.', {
      runs: (unsupported, items) => unsupported === 0 || items > 1,
    }),
    'one-offender-tolerated': always('A batch of several items runs with one unsupported method.', {
      runs: (unsupported, items) => unsupported === 0 || (unsupported === 1 && items > 1),
    }),
  },
  'rpc.unsupported-method.named': {
    'first-method-named': result('Only the first unsupported method of a batch is named.', 'named', methods =>
      methods.slice(0, 1),
    ),
    'last-method-not-named': result('The last unsupported method of a batch is not named.', 'named', methods =>
      methods.length > 1 ? methods.slice(0, -1) : methods,
    ),
    'no-method-named': always('Unsupported methods are not named.', { named: () => [] }),
    'ten-methods-named': result('At most ten unsupported methods are named.', 'named', methods => methods.slice(0, 10)),
    'subscriptions-named-alone': result(
      'If a batch has subscriptions, no other unsupported method is named.',
      'named',
      methods => {
        const sockets = methods.filter(method => /subscribe$/i.test(method))
        return sockets.length === 0 ? methods : sockets
      },
    ),
  },
  'rpc.network': {
    'unknown-network-is-403': badRequestIs('An unknown network returns 403.', 403, 'RPC network'),
    'unknown-network-is-the-first': result(
      'An unknown network is treated as the first one.',
      'network',
      (found, _, networks) => found ?? [...networks.values()][0],
    ),
  },
  'rpc.network.listed': {
    'listed-network-refused': refuseNetwork('polygon-amoy'),
    'starknet-sepolia-refused': refuseNetwork('starknet-sepolia'),
  },
  'rpc.request': {
    'version-left-to-node': leftToNode('Another version of JSON-RPC is forwarded to the node.', 'jsonrpc must'),
    'method-left-to-node': leftToNode('An invalid method is forwarded to the node.', 'method must'),
    'params-left-to-node': leftToNode('Parameters that are not a list are forwarded to the node.', 'params must'),
    'no-json-is-500': badRequestIs('A body that is not JSON returns 500.', 500, 'Invalid JSON request'),
  },
  'rpc.alternatives': {
    'no-logs': withoutMethod('eth_getLogs'),
    'no-raw-transactions': withoutMethod('eth_sendRawTransaction'),
  },
} satisfies Lies
