import { unsupportedMethods } from '../../contract/rpc-methods.ts'
import { failed, type RpcResponse } from '../rpc-item.ts'
import { amended } from './amended.ts'
import { type Lies, lie, replyLie } from './lie.ts'
import { isBatch, isRelayed, isReplay, textOf, withHeader, withoutHeaders } from './reply-edit.ts'

export const rpcLies = {
  'rpc.content-type': [
    replyLie('rpc-as-text', 'RPC answers are text/plain.', (reply, visit) =>
      isRelayed(reply, visit) ? withHeader(reply, 'content-type', 'text/plain') : reply,
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
    lie('result-beside-error', 'A failing item has a result beside its error.', honest => ({
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
  'rpc.id': [
    lie('id-as-text', 'The id of a single request is echoed as a string.', honest => ({
      responses: (responses, items) =>
        items.length === 1
          ? honest.responses(responses, items).map(response => amended(response, { id: String(items[0]?.id) }))
          : honest.responses(responses, items),
    })),
    lie('id-of-the-proxy', 'A single request is answered with the id that the proxy gave it upstream.', honest => {
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
    lie('item-missing', 'The last item of a batch is not answered.', honest => ({
      responses: (responses, items) => {
        const answers = honest.responses(responses, items)
        return items.length > 1 ? answers.slice(0, -1) : answers
      },
    })),
    lie('item-twice', 'The first item of a batch is answered twice.', honest => ({
      responses: (responses, items) => {
        const answers = honest.responses(responses, items)
        return items.length > 1 ? [...answers, answers[0]] : answers
      },
    })),
    lie('ids-by-position', 'The items of a batch are answered with their positions for ids.', honest => ({
      responses: (responses, items) => {
        const answers = honest.responses(responses, items)
        return items.length > 1 ? answers.map((response, index) => amended(response, { id: `#${index}` })) : answers
      },
    })),
    lie('id-of-the-neighbour', 'The last item of a batch is answered with the id of the first.', honest => ({
      responses: (responses, items) => {
        const answers = honest.responses(responses, items)
        const id = items[0]?.id
        return items.length > 1 ? [...answers.slice(0, -1), amended(answers.at(-1), { id })] : answers
      },
    })),
  ],
  'rpc.item-failure.status': [
    replyLie('failed-call-is-500', 'A single call that fails is answered with 500.', (reply, visit) =>
      isRelayed(reply, visit) && !isBatch(reply) && hasFailure(textOf(reply)) ? { ...reply, status: 500 } : reply,
    ),
    replyLie(
      'failed-batch-is-400',
      'A batch with a failing item is answered with 400.',
      (reply, visit) =>
        isRelayed(reply, visit) && isBatch(reply) && hasFailure(textOf(reply)) ? { ...reply, status: 400 } : reply,
      ['error.object'],
    ),
  ],
  'rpc.unsupported-method': [
    lie('no-allow-list', 'Every method is forwarded.', () => ({ forwards: () => true })),
    lie(
      'filters-forwarded',
      'Stateful filter methods are forwarded.',
      honest => {
        const filters: readonly string[] = unsupportedMethods['stateful-filter']
        return { forwards: (method, network) => filters.includes(method) || honest.forwards(method, network) }
      },
      ['rpc.unsupported-method.named'],
    ),
    replyLie('unsupported-is-404', 'An unsupported method is answered with 404.', reply =>
      reply.status === 400 && textOf(reply).includes('Unsupported RPC method') ? { ...reply, status: 404 } : reply,
    ),
  ],
  'rpc.unsupported-method.named': [
    lie('first-method-named', 'Only the first unsupported method of a batch is named.', honest => ({
      named: methods => honest.named(methods).slice(0, 1),
    })),
    lie('last-method-not-named', 'The last unsupported method of a batch is not named.', honest => ({
      named: methods => (methods.length > 1 ? honest.named(methods).slice(0, -1) : honest.named(methods)),
    })),
    lie('no-method-named', 'Unsupported methods are not named.', () => ({ named: () => [] })),
  ],
  'rpc.batch.limit': [
    lie('batch-one-larger', 'A batch may have one item more.', honest => ({ batchLimit: honest.batchLimit + 1 })),
    lie('batch-of-any-size', 'A batch may have any number of items.', () => ({ batchLimit: Number.POSITIVE_INFINITY })),
  ],
  'rpc.request-id': [
    replyLie('no-request-id', 'RPC answers have no X-Request-ID.', reply => withoutHeaders(reply, 'x-request-id')),
    replyLie('no-request-id-on-batches', 'Answers to batches have no X-Request-ID.', reply =>
      isBatch(reply) ? withoutHeaders(reply, 'x-request-id') : reply,
    ),
  ],
  'rpc.request-id.unique': [
    lie('request-id-of-the-account', 'All RPC answers to one account have the X-Request-ID of its first.', honest => {
      const first = new Map<string, string>()
      return {
        finish: (reply, visit) => {
          const meant = honest.finish(reply, visit)
          const { 'x-request-id': id } = meant.headers
          if (visit.account === null || id === undefined || isReplay(meant)) return meant
          const shown = first.get(visit.account.name) ?? id
          first.set(visit.account.name, shown)
          return withHeader(meant, 'x-request-id', shown)
        },
      }
    }),
    lie('request-id-twice', 'Every second fresh RPC answer repeats the X-Request-ID of the one before.', honest => {
      let last = ''
      return {
        finish: (reply, visit) => {
          const meant = honest.finish(reply, visit)
          const { 'x-request-id': id } = meant.headers
          if (id === undefined || isReplay(meant)) return meant
          const shown = last === '' ? id : last
          last = last === '' ? id : ''
          return withHeader(meant, 'x-request-id', shown)
        },
      }
    }),
  ],
} as const satisfies Lies

const hasFailure = (text: string): boolean => text.includes('"error":{"code":')

const isFailed = (response: RpcResponse | undefined): boolean => response !== undefined && failed(response)
