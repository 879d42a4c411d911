import type { ListAsked } from '../observation/observation.ts'
import type { Call, Office } from './call.ts'

/** One of the lists that the service keeps. Those of the caller's own carry its key. */
export function listCall(kind: ListAsked['kind'], headers: Readonly<Record<string, string>>, office: Office): Call {
  const path = pathsOf(office)[kind]
  const isOwn = kind === 'rate-limits' || kind === 'rate-limit-logs'
  return {
    asked: { kind },
    request: {
      method: 'GET',
      path,
      headers: { accept: 'application/json', ...(isOwn && headers) },
      body: null,
      timeouts: office.bounds.timeouts.control,
      maxBodyBytes: office.bounds.maxBodyBytes,
    },
  }
}

const pathsOf = ({ contract: { paths } }: Office): Readonly<Record<ListAsked['kind'], string>> => ({
  models: paths.models,
  networks: paths.networks,
  'rate-limits': paths.rateLimits,
  'rate-limit-logs': paths.rateLimitLogs,
})
