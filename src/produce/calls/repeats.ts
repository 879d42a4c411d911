import { noChatOptions } from '../../contract/chat-options.ts'
import { replayRoles } from '../../contract/requests/steps.ts'
import type { TwinRole } from '../../observation/requests/traits.ts'
import type { CallOf, RequestBuilder } from './call.ts'
import { buildChat } from './chat.ts'
import { buildResource } from './resources.ts'
import { buildRpc } from './rpc.ts'

/** A request that is sent several times with one idempotency key. */
export const replayRequests: RequestBuilder<CallOf<'replay'>> = {
  build: ({ of, concurrent }, { firstId, step }, headers, context) => {
    const role = replayRoles.find(each => each === step) ?? 'original'
    const replay = { group: firstId, role, concurrent }
    switch (of.kind) {
      case 'rpc':
        return buildRpc(of, `${firstId}`, replay, headers, context)
      case 'chat':
        return buildChat(of, step === 'conflict' ? `${firstId}/conflict` : firstId, headers, context, replay)
      case 'resource':
        return buildResource(of, firstId, headers, context, replay)
    }
  },
  refusalsOf: (plan, steps) =>
    steps === null ? Math.ceil(plan.conflictRatio) : steps.filter(step => step === 'conflict').length,
}

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
    const { descriptor, request } = built
    const { body } = request
    if (form === 'batched')
      return { ...built, descriptor: { ...descriptor, batch: true, twin }, request: { ...request, body: `[${body}]` } }
    if (form !== 'other-order') return { ...built, descriptor: { ...descriptor, twin } }
    const items = descriptor.items.toReversed()
    return { ...built, descriptor: { ...descriptor, items, twin }, request: { ...request, body: reversed(body) } }
  },
}

const reversed = (body: string | null): string => {
  const items: unknown = JSON.parse(body ?? '[]')
  return JSON.stringify(Array.isArray(items) ? items.toReversed() : items)
}

/** With options, even if they are none, since only the text of such a stream is recorded. */
function chatIn(form: TwinRole['form'], call: CallOf<'chat'>): CallOf<'chat'> {
  const options = call.options ?? noChatOptions
  if (form === 'streamed') return { ...call, options, stream: true }
  if (form === 'shorter') return { ...call, options, maxCompletionTokens: Math.floor(call.maxCompletionTokens / 2) }
  if (form === 'compressed') return { ...call, options: { ...options, encoding: 'gzip' } }
  return { ...call, options }
}
