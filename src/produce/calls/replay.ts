import { replayRoles } from '../../contract/requests/steps.ts'
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
