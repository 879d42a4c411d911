import { isErrorResponse, type RpcResponse } from '../rpc/item.ts'
import { amended } from './amended.ts'
import { type Lie, type Lies, lie, replyLie } from './lie.ts'
import { isBatch, isRelayed, isReplay, textOf, withHeader, withoutHeaders } from './reply-edit.ts'

/** What a failing item says of its error. */
const errorOf =
  (error: unknown): Lie['bend'] =>
  honest => ({
    responses: (responses, items) =>
      honest
        .responses(responses, items)
        .map((response, index) => (isFailed(responses[index]) ? amended(response, { error }) : response)),
  })

export const rpcLies = {
  'rpc.content-type': [
    replyLie('rpc-as-text', 'RPC answers are text/plain.', (reply, visit) =>
      isRelayed(reply, visit) ? withHeader(reply, 'content-type', 'text/plain') : reply,
    ),
    replyLie('type-of-the-node', 'Answers with an error have the type that the node gave them.', (reply, visit) =>
      isRelayed(reply, visit) && hasFailure(textOf(reply))
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
  'rpc.response.error': [
    lie(
      'error-code-as-text',
      'The code of an error is a string.',
      errorOf({ code: '-32602', message: 'invalid params' }),
    ),
    lie('error-without-message', 'An error has no message.', errorOf({ code: -32602 })),
    lie(
      'error-code-of-http',
      'An error has a status in place of its code.',
      errorOf({ status: 400, message: 'invalid' }),
    ),
  ],
  'rpc.id': [
    lie('id-as-text', 'The id of a single request is echoed as a string.', honest => ({
      responses: (responses, items) =>
        items.length === 1
          ? honest.responses(responses, items).map(response => amended(response, { id: String(items[0]?.id) }))
          : honest.responses(responses, items),
    })),
    lie('text-id-lost', 'The id of a single request is not echoed where it is a string.', honest => ({
      responses: (responses, items) =>
        items.length === 1 && typeof items[0]?.id === 'string'
          ? honest.responses(responses, items).map(response => amended(response, { id: null }))
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
  'rpc.item-failure.alone': [
    lie(
      'failure-of-all',
      'Where one item of a batch fails, all of them do.',
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

const isFailed = (response: RpcResponse | undefined): boolean => response !== undefined && isErrorResponse(response)
