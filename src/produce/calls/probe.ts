import type { Sender } from '../../contract/probe.ts'
import { ownRefusals, probeOf } from '../../contract/probes.ts'
import { isKeyForgery, type KeyForm, keyHeader, keyHeaders, misplacedKey } from '../../contract/requests/credentials.ts'
import type { Headers } from '../callers/caller.ts'
import type { CallOf, RequestBuilder } from './call.ts'

/** The crafted request of a probe, with the credentials that the probe needs. */
export const probeRequests: RequestBuilder<CallOf<'probe'>> = {
  refusalsOf: ({ probe: name }, _, contract) => ownRefusals(name, contract),
  build: ({ probe: name }, { firstId }, headers, { contract, bounds }) => {
    const { copies, as, request } = probeOf(name)
    const race = copies === undefined ? {} : { race: firstId }
    const { method, path, headers: ownHeaders, body } = request(contract)
    return {
      descriptor: { kind: 'probe', probe: name, ...race },
      request: {
        method,
        path,
        headers: { ...ownHeaders, ...credentialsOf(as, headers, contract.auth) },
        body,
        timeouts: bounds.timeouts.control,
        maxBodyBytes: bounds.maxBodyBytes,
      },
    }
  },
}

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
