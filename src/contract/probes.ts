import type { ClausesOf } from './clauses.ts'

/** Crafted requests: each exercises a clause and is promised one status. */
export type Probe = {
  readonly clause: ClausesOf<'probe'>
  /** The status that the document promises. */
  readonly status: number
  /** The limit that the request may draw on: a service need not count what it rejects. */
  readonly draws: 'chat' | 'rpc' | null
  /** What the error message must name. */
  readonly names: readonly string[]
}

/** The rejected methods of the batch probe, one of each kind that HTTP could carry. */
const offending = ['eth_newFilter', 'eth_accounts'] as const

export const probes = {
  'bad-key': { clause: 'auth.bearer', status: 401, draws: null, names: [] },
  'wrong-media-type': { clause: 'chat.media-type', status: 415, draws: 'chat', names: [] },
  'websocket-method': { clause: 'rpc.unsupported-method', status: 400, draws: 'rpc', names: [] },
  'filter-method': { clause: 'rpc.unsupported-method', status: 400, draws: 'rpc', names: [] },
  'key-holding-method': { clause: 'rpc.unsupported-method', status: 400, draws: 'rpc', names: [] },
  'unlisted-method': { clause: 'rpc.unsupported-method', status: 400, draws: 'rpc', names: [] },
  'unsupported-methods-in-batch': {
    clause: 'rpc.unsupported-method.named',
    status: 400,
    draws: 'rpc',
    names: offending,
  },
  'batch-too-long': { clause: 'rpc.batch.limit', status: 400, draws: 'rpc', names: [] },
} as const satisfies Record<string, Probe>

export type ProbeName = keyof typeof probes

export const probeNames = Object.keys(probes) as readonly ProbeName[]
