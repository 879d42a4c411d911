import { noChatOptions } from '../../contract/chat-options.ts'
import type { TwinRole } from '../../observation/requests/traits.ts'
import type { CallOf, RequestBuilder } from './call.ts'
import { buildChat } from './chat.ts'
import { buildRpc } from './rpc.ts'

/** One content in several forms. */
export const twinRequests: RequestBuilder<CallOf<'twin'>> = {
  build: ({ of, as, mayDiffer }, { firstId, step }, headers, context) => {
    const form = as.find(each => each === step) ?? 'original'
    const twin: TwinRole = { group: firstId, form, mayDiffer }
    if (of.kind === 'chat') {
      const built = buildChat(chatIn(form, of), firstId, headers, context)
      return { ...built, descriptor: { ...built.descriptor, twin } }
    }
    const built = buildRpc(of, `${firstId}`, null, headers, context)
    if (form !== 'batched') return { ...built, descriptor: { ...built.descriptor, twin } }
    const request = { ...built.request, body: `[${built.request.body}]` }
    return { ...built, descriptor: { ...built.descriptor, batch: true, twin }, request }
  },
}

function chatIn(form: TwinRole['form'], call: CallOf<'chat'>): CallOf<'chat'> {
  if (form === 'streamed') return { ...call, stream: true }
  if (form === 'compressed') return { ...call, options: { ...(call.options ?? noChatOptions), encoding: 'gzip' } }
  return call
}
