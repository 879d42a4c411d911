import type { ListAsked } from '../observation/observation.ts'
import type { Call, Office } from './call.ts'

/** One of the lists that the service keeps. Only the rate limits are the caller's own, so only they carry its key. */
export function listCall(kind: ListAsked['kind'], headers: Readonly<Record<string, string>>, office: Office): Call {
  const { paths } = office.contract
  const path = { models: paths.models, networks: paths.networks, 'rate-limits': paths.rateLimits }[kind]
  return {
    asked: { kind },
    request: {
      method: 'GET',
      path,
      headers: { accept: 'application/json', ...(kind === 'rate-limits' && headers) },
      body: null,
      timeouts: office.bounds.timeouts.control,
      maxBodyBytes: office.bounds.maxBodyBytes,
    },
  }
}
