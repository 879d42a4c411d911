/** Who judges: a check looks at one observation, an audit at many. */
export const checkNames = [
  'headers',
  'occasional-headers',
  'limit-headers',
  'error-answer',
  'chat-request',
  'compression',
  'chat-answer',
  'chat-stream',
  'parameters',
  'rpc-answer',
  'rpc-credits',
  'catalogue',
  'resource-answer',
  'probe',
] as const
export const auditNames = ['ledger', 'limiter', 'idempotency', 'uniqueness', 'abuse', 'coherence'] as const

export type CheckName = (typeof checkNames)[number]
export type AuditName = (typeof auditNames)[number]
export type JudgeName = CheckName | AuditName

/** A normative sentence of the interface document, in our own words, and who judges it. */
export type Clause = {
  readonly section: string
  readonly says: string
  readonly judges: readonly [JudgeName, ...JudgeName[]]
  /** The document leaves the matter open and the profile states it. */
  readonly basis?: 'profile'
  /** What must be so for a run to exercise it, where a healthy target under load and probes is not enough. */
  readonly needs?: string
}

export type Clauses = Readonly<Record<string, Clause>>

/** A normative sentence that no run judges, and why. */
export type ExcusedClause = {
  readonly section: string
  readonly says: string
  /** `later`: it can be judged, and is not yet. */
  readonly excuse: 'unobservable' | 'later'
  readonly because: string
}
