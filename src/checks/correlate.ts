import { quote } from '../lib/format.ts'
import { toObject } from '../lib/json.ts'
import type { RpcItem } from '../observation/observation.ts'

type Response = Readonly<Record<string, unknown>>

export type Pairing = {
  readonly byId: ReadonlyMap<number | string, Response>
  /** Ids that are missing, unknown, doubled, or of another type than they were sent with; in words. */
  readonly faults: readonly string[]
}

/** Pairs the responses of a batch with its items by id. Their order is free. */
export function correlate(items: readonly RpcItem[], responses: readonly unknown[]): Pairing {
  const asked = new Set(items.map(item => item.id))
  const byId = new Map<number | string, Response>()
  const faults: string[] = []
  for (const value of responses) {
    const response = toObject(value)
    const id = response?.id
    if (response === null || (typeof id !== 'number' && typeof id !== 'string') || !asked.has(id)) {
      const near = items.find(item => String(item.id) === String(id))
      faults.push(near ? `id ${quote(near.id)} came back as ${quote(id)}` : `id ${quote(id)} was not asked for`)
    } else if (byId.has(id)) faults.push(`id ${quote(id)} came back twice`)
    else byId.set(id, response)
  }
  if (byId.size < asked.size) {
    const missing = items.filter(item => !byId.has(item.id)).map(item => quote(item.id))
    faults.push(`no response has id ${briefly(missing, ', ')}`)
  }
  return { byId, faults }
}

const mostNamed = 5

/** The first few of a list that the target can make as long as it likes. */
export const briefly = (texts: readonly string[], separator: string): string =>
  texts.slice(0, mostNamed).join(separator) + (texts.length > mostNamed ? ` and ${texts.length - mostNamed} more` : '')

/** Whether a response says that its params are invalid, as JSON-RPC numbers it. */
export const rejectsParams = (response: Response | undefined): boolean => toObject(response?.error)?.code === -32602

export const isError = (response: Response | undefined): boolean =>
  response !== undefined && response.error !== undefined && response.error !== null
