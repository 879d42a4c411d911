import { isObject } from '../lib/json.ts'

/** The model that a body names, without the options that may follow it: `model:option=value`. */
export function namedModel(body: unknown): string {
  const named = isObject(body) && typeof body.model === 'string' ? body.model : ''
  const colon = named.indexOf(':')
  return colon < 0 ? named : named.slice(0, colon)
}
