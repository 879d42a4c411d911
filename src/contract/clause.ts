/** Who judges: a check reads one observation, an audit many. */
export const checkNames = [
  'headers',
  'conditional-headers',
  'limit-headers',
  'errors',
  'chat-request',
  'compression',
  'chat-response',
  'chat-stream',
  'chat-options',
  'rpc-response',
  'rpc-credits',
  'lists',
  'resources',
  'probe',
] as const
export const auditNames = ['ledger', 'rate-limits', 'idempotency', 'unique-ids', 'abuse', 'consistency'] as const

export type CheckName = (typeof checkNames)[number]
export type AuditName = (typeof auditNames)[number]
export type JudgeName = CheckName | AuditName

/** A normative sentence of the interface document, in our own words, and who judges it. */
export type Clause = {
  readonly section: string
  readonly text: string
  readonly judges: readonly [JudgeName, ...JudgeName[]]
  /** Where the document says nothing, the profile does. */
  readonly source?: 'profile'
  /** What a run needs to exercise it, where a healthy target under load and probes is not enough. */
  readonly needs?: string
}

/** A clause as a line of a table: section, who judges, the sentence, and what is special about it. */
export type ClauseRow = readonly [
  section: string,
  judges: JudgeName | Clause['judges'],
  text: string,
  more?: { readonly source?: 'profile'; readonly needs?: string },
]

export type ClauseRows = Readonly<Record<string, ClauseRow>>

/** A normative sentence that no run judges, and why. */
export type UnjudgedClause = {
  readonly section: string
  readonly text: string
  /** `later`: it can be judged, but is not yet. */
  readonly status: 'unobservable' | 'later'
  readonly reason: string
}
