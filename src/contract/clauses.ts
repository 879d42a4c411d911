/**
 * The normative sentences of the interface document that a run judges, in our own words, each with those who judge it.
 * `basis: 'profile'` marks a sentence that the document leaves open and the profile states.
 */
export const checkNames = [
  'headers',
  'limit-headers',
  'error-answer',
  'chat-answer',
  'chat-stream',
  'rpc-answer',
  'rpc-credits',
  'catalogue',
  'probe',
] as const
export const auditNames = ['ledger', 'limiter', 'idempotency', 'uniqueness'] as const

export type CheckName = (typeof checkNames)[number]
export type AuditName = (typeof auditNames)[number]
export type JudgeName = CheckName | AuditName

export type Clause = {
  readonly section: string
  readonly says: string
  readonly judges: readonly [JudgeName, ...JudgeName[]]
  readonly basis?: 'profile'
}

export const clauses = {
  'header.content-type': { section: '4.4', says: 'Every answer carries Content-Type.', judges: ['headers'] },
  'header.date': { section: '4.4', says: 'Every answer carries Date in the HTTP date format.', judges: ['headers'] },
  'header.cf-ray': { section: '4.4', says: 'Every answer carries CF-RAY.', judges: ['headers'] },
  'header.cf-ray.unique': { section: '4.4', says: 'CF-RAY identifies one request.', judges: ['uniqueness'] },
  'header.version': { section: '4.4', says: 'Every answer carries the service version.', judges: ['headers'] },
  'header.version.format': {
    section: '9',
    says: 'The service version is a date, a dot and time digits.',
    judges: ['headers'],
  },
  'header.model-id': { section: '4.4', says: 'Inference answers name the model used.', judges: ['headers'] },
  'header.model-name': {
    section: '4.4',
    says: 'Inference answers carry the display name of the model.',
    judges: ['headers'],
  },
  'header.balance.usd': {
    section: '4.4',
    says: 'Authenticated answers carry the USD balance as a decimal string.',
    judges: ['headers'],
  },
  'header.balance.diem': {
    section: '4.4',
    says: 'Authenticated answers carry the DIEM balance as a decimal string.',
    judges: ['headers'],
  },

  'auth.bearer': { section: '5', says: 'A request whose key is not valid is answered with 401.', judges: ['probe'] },
  'error.object': {
    section: '7',
    says: 'A non-success answer has an error object as its body.',
    judges: ['error-answer'],
  },

  'limit.requests.headers': {
    section: '4.4',
    says: 'Authenticated answers carry limit, remaining and reset of the request window, as numbers.',
    judges: ['limit-headers'],
  },
  'limit.requests.limit': {
    section: '8',
    says: "The request limit is that of the account's and the model's tier.",
    judges: ['limit-headers'],
  },
  'limit.requests.remaining': {
    section: '4.4',
    says: 'Remaining requests are the limit less the requests of the window.',
    judges: ['limiter'],
  },
  'limit.requests.reset': {
    section: '4.4',
    says: 'The request reset is a Unix time ahead, at most one window away.',
    judges: ['limiter'],
  },
  'limit.requests.window': {
    section: '4.4',
    says: 'A request window lasts until its reset time.',
    judges: ['limiter'],
  },
  'limit.requests.enforced': {
    section: '7',
    says: 'A request beyond the limit of its window is answered with 429.',
    judges: ['limiter'],
  },
  'limit.requests.not-early': {
    section: '7',
    says: 'No request within the limits is answered with 429.',
    judges: ['limiter'],
  },
  'limit.tokens.headers': {
    section: '4.4',
    says: 'Inference answers carry limit, remaining and reset of the token window, as numbers.',
    judges: ['limit-headers'],
  },
  'limit.tokens.limit': {
    section: '8',
    says: "The token limit is that of the account's and the model's tier.",
    judges: ['limit-headers'],
  },
  'limit.tokens.remaining': {
    section: '4.4',
    says: 'Remaining tokens are at most the limit less the tokens used in the window.',
    judges: ['limiter'],
  },
  'limit.tokens.reset': {
    section: '4.4',
    says: 'The token reset is a number of seconds, at most one window.',
    judges: ['limit-headers'],
  },
  'limit.type': {
    section: '4.4',
    says: 'Where a rate limit is enforced, its type is user, api_key or global.',
    judges: ['limit-headers'],
  },
  'limit.rpc-429': {
    section: '7',
    says: 'A 429 of the RPC proxy has a customMessage and X-RateLimit headers.',
    judges: ['error-answer'],
  },

  'chat.content-type': {
    section: '4.2',
    says: 'An unstreamed completion is application/json.',
    judges: ['chat-answer'],
  },
  'chat.media-type': {
    section: '4.2',
    says: 'A chat request that is not application/json is answered with 415.',
    judges: ['probe'],
  },
  'chat.id': { section: '2.4', says: 'A completion has a string id.', judges: ['chat-answer', 'chat-stream'] },
  'chat.object': { section: '2.4', says: 'The object of a completion is chat.completion.', judges: ['chat-answer'] },
  'chat.created': {
    section: '2.4',
    says: 'created is the Unix time at which the request was made.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.model': { section: '2.4', says: 'A completion names the model used.', judges: ['chat-answer', 'chat-stream'] },
  'chat.choice': {
    section: '2.4',
    says: 'A choice has an integer index, a message, and the key logprobs.',
    judges: ['chat-answer'],
  },
  'chat.choice.finish-reason': {
    section: '2.4',
    says: 'finish_reason is stop, length or tool_calls.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.message': {
    section: '2.4',
    says: 'The message of a choice is an assistant or tool message with content or tool_calls.',
    judges: ['chat-answer'],
  },
  'chat.usage': {
    section: '2.4',
    says: 'usage has integer prompt_tokens, completion_tokens and total_tokens.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.usage.sum': {
    section: '2.4',
    says: 'Total tokens are prompt tokens plus completion tokens.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.max-completion-tokens': {
    section: '2.1',
    says: 'max_completion_tokens bounds the generated tokens, reasoning included.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.cost': {
    section: '2.4',
    says: 'cost, where present, has diem and usd, both numbers not below zero.',
    judges: ['chat-answer', 'chat-stream'],
  },
  'chat.cost.amount': {
    section: '2.4',
    says: 'cost is tokens times the list price of the model.',
    judges: ['chat-answer', 'chat-stream'],
    basis: 'profile',
  },

  'chat.stream.content-type': {
    section: '4.2',
    says: 'A streamed completion is an event stream.',
    judges: ['chat-stream'],
    basis: 'profile',
  },
  'chat.stream.chunk': {
    section: '4.2',
    says: 'Every event is a JSON chunk of one completion: one id, one model.',
    judges: ['chat-stream'],
    basis: 'profile',
  },
  'chat.stream.finish': {
    section: '4.2',
    says: 'A stream states its finish reason once, and no token follows it.',
    judges: ['chat-stream'],
    basis: 'profile',
  },
  'chat.stream.usage': {
    section: '4.2',
    says: 'A stream states its usage once.',
    judges: ['chat-stream'],
    basis: 'profile',
  },
  'chat.stream.done': {
    section: '4.2',
    says: 'A stream ends with the done marker, and nothing follows it.',
    judges: ['chat-stream'],
    basis: 'profile',
  },

  'rpc.content-type': {
    section: '4.3',
    says: 'The content type of an RPC answer is application/json.',
    judges: ['rpc-answer'],
  },
  'rpc.response': {
    section: '4.3',
    says: 'A JSON-RPC response has jsonrpc 2.0 and either a result or an error object.',
    judges: ['rpc-answer'],
  },
  'rpc.id': { section: '4.3', says: 'The id of a request is echoed back.', judges: ['rpc-answer'] },
  'rpc.batch.correlation': {
    section: '4.3',
    says: 'A batch is answered with one response for each of its ids.',
    judges: ['rpc-answer'],
  },
  'rpc.item-failure.status': {
    section: '4.3',
    says: 'A failing item leaves the HTTP status at 200.',
    judges: ['rpc-answer'],
  },
  'rpc.unsupported-method': {
    section: '4.3',
    says: 'A method that is not on the allow-list is answered with 400.',
    judges: ['probe'],
  },
  'rpc.unsupported-method.named': {
    section: '4.3',
    says: 'The error message of a rejected batch names every offending method.',
    judges: ['probe'],
  },
  'rpc.batch.limit': {
    section: '4.3',
    says: 'A batch of more than 100 items is answered with 400.',
    judges: ['probe'],
  },
  'rpc.credits.header': {
    section: '4.3',
    says: 'An RPC answer states the credits charged, as an integer.',
    judges: ['rpc-credits'],
  },
  'rpc.credits.amount': {
    section: '4.3',
    says: "Credits are the chain's base credits times the multiplier of the method's tier, summed over a batch.",
    judges: ['rpc-credits'],
  },
  'rpc.batch.error-price': {
    section: '4.3',
    says: 'An item of a batch that returns an error is billed 5 credits.',
    judges: ['rpc-credits'],
  },
  'rpc.cost.header': {
    section: '4.3',
    says: 'An RPC answer states its cost in USD, as a decimal string.',
    judges: ['rpc-credits'],
  },
  'rpc.cost.amount': {
    section: '4.3',
    says: 'The cost is the credits times the price of a credit.',
    judges: ['rpc-credits'],
  },
  'rpc.request-id': { section: '4.3', says: 'An RPC answer carries X-Request-ID.', judges: ['rpc-answer'] },
  'rpc.request-id.unique': {
    section: '4.3',
    says: 'X-Request-ID identifies one request; only a replay repeats it.',
    judges: ['uniqueness'],
  },
  'rpc.replay.header': {
    section: '4.3',
    says: 'A repeated request with the same key and body says Idempotent-Replayed: true; a first one does not.',
    judges: ['idempotency'],
  },
  'rpc.replay.body': {
    section: '4.3',
    says: 'A replay returns the cached answer, byte for byte.',
    judges: ['idempotency'],
  },
  'rpc.replay.charge': { section: '4.3', says: 'A replay is not charged.', judges: ['idempotency', 'ledger'] },
  'rpc.replay.conflict': {
    section: '4.3',
    says: 'A used key with another body is answered with 400.',
    judges: ['idempotency'],
  },
  'rpc.replay.per-user': { section: '4.3', says: 'An idempotency key belongs to one user.', judges: ['idempotency'] },

  'billing.balance-before': {
    section: '4.4',
    says: 'The balance headers show the balance before the request.',
    judges: ['ledger'],
  },
  'billing.conservation': {
    section: '1',
    says: 'What leaves the balance is what the answers say was charged.',
    judges: ['ledger'],
  },

  'catalogue.networks': {
    section: '4.1',
    says: 'The network list names the slugs, sorted and without duplicates.',
    judges: ['catalogue'],
    basis: 'profile',
  },
  'catalogue.models': {
    section: '4.1',
    says: 'The model list is an object list whose members have an id.',
    judges: ['catalogue'],
    basis: 'profile',
  },
  'catalogue.rate-limits': {
    section: '4.1',
    says: "The rate-limit answer lists the caller's limits; they are those of the tier.",
    judges: ['catalogue'],
    basis: 'profile',
  },
} as const satisfies Record<string, Clause>

export type ClauseId = keyof typeof clauses

/** The clauses that the judge called `Name` answers for: a judge cannot speak about another's. */
export type ClausesOf<Name extends JudgeName> = {
  [Id in ClauseId]: Name extends (typeof clauses)[Id]['judges'][number] ? Id : never
}[ClauseId]

export const clauseIds = Object.keys(clauses) as readonly ClauseId[]
