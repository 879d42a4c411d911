/** The judges. A check reads one observation; an audit reads many. */
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
  'chat-json',
  'rpc-response',
  'rpc-credits',
  'lists',
  'resources',
  'wallet-offers',
  'probe',
  'payments',
] as const
export const auditNames = [
  'ledger',
  'rate-limits',
  'idempotency',
  'implied-credits',
  'unique-ids',
  'abuse',
  'consistency',
  'sign-ins',
  'dependent-errors',
  'twins',
  'coherence',
  'overdraft',
  'slow-readers',
] as const

export type CheckName = (typeof checkNames)[number]
type AuditName = (typeof auditNames)[number]
export type JudgeName = CheckName | AuditName

/** A normative sentence of the interface document, in our own words, and its judges. */
export type Clause = {
  readonly section: string
  readonly text: string
  readonly judges: readonly [JudgeName, ...JudgeName[]]
  /** Who states what is judged, if the document leaves it open: the profile, or the target itself. */
  readonly source?: 'profile' | 'target'
  /** Not a sentence of the document: a target promises it only if its profile names it in `promises.only`. */
  readonly isExtra?: boolean
  /** What a run needs to exercise the clause, if load and probes against a healthy target are not enough. */
  readonly needs?: string
  /** Which calls exercise it; if missing, those that its judges read. `any`: also calls of Turnpike itself. */
  readonly exercisedBy?: CallFilterName
  /** Whether refused requests exercise the clause too. */
  readonly evenIfRefused?: boolean
  /** What no response of a run showed, if such calls succeeded. */
  readonly unseen?: string
  /** What a violation means, and the clauses that it hides, because they could have judged the same response. */
  readonly hides?: HiddenClauses
}

/** Calls that exercise a clause. `judge/not-judged.ts` tells which. */
export type CallFilterName =
  | 'any'
  | 'chat'
  | 'compressed-chat'
  | 'json-answer'
  | 'conversation'
  | 'rpc'
  | 'batch'
  | 'failing-item'
  | 'failing-batch'
  | 'replay'
  | 'replay-conflict'
  | 'replay-of-other-caller'
  | 'replay-with-other-key'
  | 'replay-later'
  | 'resource'
  | 'models'
  | 'networks'
  | 'rate-limit-logs'
  | 'top-up'
  | 'hang-up'
  | 'slow-reader'
  | 'twin'
  | 'twin-of-chat'
  | 'twin-of-rpc'
  | 'deterministic-twin'
  | 'sampled-twin'
  | 'shorter-twin'

type HiddenClauses = readonly [text: string, clauses: readonly string[]]

/** A clause as a table row: section, judges, sentence, and optional extras. */
export type ClauseRow = readonly [
  section: string,
  judges: JudgeName | Clause['judges'],
  text: string,
  more?: Omit<Clause, 'section' | 'judges' | 'text'>,
]

export type ClauseRows = Readonly<Record<string, ClauseRow>>

/** A normative sentence that no run judges, and the reason. */
export type UnjudgedClause = {
  readonly section: string
  readonly text: string
  readonly status: 'unobservable'
  readonly reason: string
}
