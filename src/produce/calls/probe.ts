import type { Contract } from '../../contract/contract.ts'
import type { Sender } from '../../contract/probe.ts'
import { ownRefusals, probeOf } from '../../contract/probes.ts'
import { isKeyForgery, type KeyForm, keyHeader, keyHeaders, misplacedKey } from '../../contract/requests/credentials.ts'
import type { Headers } from '../callers/caller.ts'
import type { CallOf, RequestBuilder } from './call.ts'

/** The crafted request of a probe, with the credentials that the probe needs. */
export const probeRequests: RequestBuilder<CallOf<'probe'>> = {
  refusalsOf: ({ probe: name }, _, contract) => ownRefusals(name, contract),
  build: ({ probe: name }, { firstId, wallet }, headers, { contract, bounds }) => {
    const { copies, as, isLegacy, request } = probeOf(name)
    const own = credentialsOf(as, headers, contract.auth)
    const race = copies === undefined ? {} : { race: firstId }
    const { method, path, headers: ownHeaders, body } = request(contract)
    return {
      descriptor: { kind: 'probe', probe: name, ...race },
      request: {
        method,
        path: path.replace('{walletAddress}', wallet?.address ?? ''),
        headers: { ...ownHeaders, ...(isLegacy ? underOldName(own, contract.wallets.signIn) : own) },
        body,
        timeouts: bounds.timeouts.control,
        maxBodyBytes: bounds.maxBodyBytes,
      },
    }
  },
}

/** The sign-in of a wallet, under the old name of its header. */
const underOldName = (headers: Headers, { header, legacyHeader }: Contract['wallets']['signIn']): Headers =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name === header ? (legacyHeader ?? header) : name, value]),
  )

function credentialsOf(sender: Sender, own: Headers, auth: KeyForm): Headers {
  if (isKeyForgery(sender)) return misplacedKey(auth, own, sender)
  switch (sender) {
    case 'bad-key':
      return keyHeaders(auth, 'not-a-key')
    case 'other-scheme':
      return { [keyHeader(auth)]: 'Basic bm90LWE6a2V5' }
    case 'anonymous':
      return {}
    default:
      return own
  }
}
