import { z } from 'zod'
import type { AccountTier, Contract } from '../../contract/contract.ts'
import type { Draw } from '../../contract/limiters.ts'
import type { Probe, Sender } from '../../contract/probe.ts'
import { isOwnRefusal, isPromisedStatus, probeNameSchema, probeOf } from '../../contract/probes.ts'
import { isKeyForgery } from '../../contract/requests/credentials.ts'
import { isBadSignIn } from '../../contract/wallets.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { whole } from '../../lib/schemas.ts'
import { type ApplicableLimit, drawnLimit } from '../limit-scope.ts'
import { type Identity, type RequestTraits, usual } from './traits.ts'

/** A crafted request with a documented response. */
export const probeRequestSchema = z.object({
  kind: z.literal('probe'),
  probe: probeNameSchema,
  /** The same for requests that are sent at once with one sign-in: the id of the first. Missing: it is alone. */
  race: whole.optional(),
})
export type ProbeDescriptor = DeepReadonly<z.output<typeof probeRequestSchema>>

export const probeTraits: RequestTraits<ProbeDescriptor> = {
  ...usual,
  endpoint: ({ probe: name }, contract) => {
    const { method, path } = probeOf(name).request(contract)
    return { method, route: path.replace(/\?.*$/, '') }
  },
  limiter: null,
  limit: ({ probe: name }, { accountTier }, contract) => probeLimit(probeOf(name).draws, accountTier, contract),
  service: ({ probe: name }) => (probeOf(name).draws === 'rpc' ? 'rpc' : 'other'),
  // A probe without a limit has no account that could be charged.
  pricing: ({ probe: name }) => (probeOf(name).draws === null ? 'nothing' : 'probe'),
  identity: ({ probe: name }) => identityOf(probeOf(name).as),
  isProbe: true,
  isRepetition: () => true,
  isMeantToFail: ({ probe: name }, contract) => isOwnRefusal(name, contract),
  hasIntent: ({ probe: name }, _, contract) => probeOf(name).promised(contract).length > 0,
  isIntended: ({ probe: name }, status, contract) => isPromisedStatus(name, status, contract),
}

function identityOf(sender: Sender): Identity {
  if (isBadSignIn(sender)) return 'bad-sign-in'
  if (isKeyForgery(sender)) return 'none'
  switch (sender) {
    case 'caller':
      return 'caller'
    case 'wallet':
    case 'raced-sign-in':
      return 'wallet'
    case 'anonymous':
    case 'other-scheme':
      return 'none'
    default:
      return 'other'
  }
}

function probeLimit(draws: Probe['draws'], accountTier: AccountTier, contract: Contract): ApplicableLimit | null {
  const draw = drawOf(draws, contract)
  if (draw === null) return null
  const limit = drawnLimit(draw, accountTier, contract)
  // A probe may name another model, and so another tier.
  return draw.limiter === 'chat'
    ? { ...limit, counters: limit.counters.map(counter => (counter === limit.name ? counter : null)) }
    : limit
}

function drawOf(draws: Probe['draws'], { models: [model] }: Contract): Draw | null {
  switch (draws) {
    case 'chat':
      return model === undefined ? null : { limiter: draws, model: model.id, modelTier: model.tier }
    case 'rpc':
      return { limiter: draws, network: null }
    case 'control':
      return { limiter: draws, endpoint: null }
    case 'embedding':
      return { limiter: 'resources', limit: draws, resource: 'embeddings' }
    case null:
      return null
  }
}
