import type { ListDescriptor } from '../../observation/observation.ts'
import { getJson } from '../transport/transport.ts'
import type { CallKind, CallOf } from './call.ts'

/** A list of the service. Each has the key of its caller, since a service may demand one for every request. */
export const list = <Kind extends ListDescriptor['kind']>(
  kind: Kind,
  path: 'models' | 'networks' | 'rateLimits' | 'rateLimitLogs',
): CallKind<CallOf<Kind>> => ({
  build: (_, _position, headers, { contract, bounds }) => ({
    descriptor: { kind },
    request: getJson(contract.paths[path], headers, bounds),
  }),
})

/** A list that may be open to everyone, so that no sign-in of a wallet is used up for it. */
export const openList = (kind: 'models' | 'networks'): CallKind<CallOf<typeof kind>> => ({
  isUnsigned: true,
  build: (_, { wallet }, headers, { contract, bounds }) => ({
    descriptor: { kind },
    request: getJson(contract.paths[kind], wallet === undefined ? headers : {}, bounds),
  }),
})

export const walletBalance: CallKind<CallOf<'wallet-balance'>> = {
  senderOf: () => 'wallet',
  build: (_, { wallet }, headers, { contract, bounds }) => {
    const address = wallet?.address ?? null
    const path = contract.wallets.balancePath.replace('{walletAddress}', address ?? '')
    return { descriptor: { kind: 'wallet-balance', address }, request: getJson(path, headers, bounds) }
  },
}
