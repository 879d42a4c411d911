import type { Sender } from '../contract/probe.ts'
import { probeOf } from '../contract/probes.ts'
import type { Call, Office } from './call.ts'

type Headers = Readonly<Record<string, string>>

/** The crafted request of a probe, sent by whom it wants. */
export function probeCall(name: string, headers: Headers, office: Office): Call {
  const { contract, bounds } = office
  const probe = probeOf(name)
  const { method, path, headers: crafted, body } = probe.request(contract)
  return {
    asked: { kind: 'probe', probe: name },
    request: {
      method,
      path,
      headers: { ...crafted, ...credentialsOf(probe.as, headers) },
      body,
      timeouts: bounds.timeouts.control,
      maxBodyBytes: bounds.maxBodyBytes,
    },
  }
}

function credentialsOf(sender: Sender, own: Headers): Headers {
  switch (sender) {
    case 'bad-key':
      return { authorization: 'Bearer not-a-key' }
    case 'other-scheme':
      return { authorization: 'Basic bm90LWE6a2V5' }
    case 'stranger':
      return {}
    default:
      return own
  }
}
