/**
 * Everything that the document leaves open, or that two careful readers could implement differently. The first value of
 * each option is the plain one.
 */
export const options = {
  models: ['few', 'many', 'no-large', 'slashed-ids'],
  modelTiers: ['shown', 'hidden'],
  networks: ['many', 'few', 'other-slugs'],
  limits: ['documented', 'lower', 'per-model'],
  rpcLimit: [100, 60, 300],
  rpcLimitPublished: [true, false],
  limiter: ['fixed', 'aligned', 'log', 'counter', 'bucket', 'gcra'],
  refusedCount: [false, true],
  invalidCount: [true, false],
  replaysCount: [true, false],
  resetForm: ['whole', 'fractional'],
  limitType: ['on-429', 'always'],
  streamUsage: ['last-without-choices', 'last-with-choices', 'running', 'on-request'],
  noCredentials: [401, 402],
  abuseWords: ['plain', 'spelled-out', 'in-30s', 'suspended'],
  abuseStatus: [429, 403, 503],
  retryAfter: [false, true],
  errors: ['text', 'nested', 'message', 'detail', 'list', 'problem', 'with-details'],
  rpc429: ['three', 'requests-family', 'draft-and-one', 'reset-only', 'spelled'],
  listOrder: ['sorted', 'shuffled'],
  batchOrder: ['as-sent', 'reversed', 'shuffled'],
  rateLimitsLayout: ['entries', 'by-model', 'rows'],
  numbers: ['numbers', 'texts'],
  modelsLayout: ['data', 'models', 'array'],
  networksLayout: ['networks', 'array', 'data'],
  logs: ['rows', 'own'],
  races: ['waits', 'conflict', 'both'],
  replayCredits: ['original', 'zero'],
  replayRequestId: ['original', 'new'],
  headerCase: ['documented', 'upper', 'lower'],
  headerSpaces: [false, true],
  extraHeaders: [0, 8, 300],
  clockOffsetSeconds: [0, 90, -90],
  framing: ['length', 'chunked'],
  connections: ['kept', 'one-second', 'closed'],
  ids: ['uuid', 'hex', 'counter'],
  details: ['full', 'null', 'absent'],
  reasoning: ['content', 'details', 'hidden'],
  logprobs: ['per-token', 'first-token'],
  sse: ['plain', 'comments', 'crlf', 'no-space'],
  deltas: ['single', 'several-per-write', 'with-empty'],
  roleChunk: ['first', 'merged'],
  encoding: ['gzip-first', 'br-first'],
  prices: ['first', 'second'],
  baseCredits: ['public', 'own'],
  creditPrice: ['exact', 'about'],
  costDecimals: [8, 12],
  singleError: ['full', 'five'],
  charges: ['usd', 'diem-first', 'usd-first'],
  balanceDecimals: [8, 2, 4, 12],
  unknownKeys: ['rejected', 'accepted'],
  undocumented: [false, true],
  pretty: [false, true],
  costMember: ['always', 'never'],
  echo: ['always', 'never'],
  timestamps: [false, true],
  chatWindows: ['per-model', 'per-tier'],
  rpcWindows: ['of-the-proxy', 'per-network'],
  otherWindows: ['of-the-type', 'per-endpoint', 'of-the-account'],
  listAccess: ['open', 'with-key'],
  methodLists: ['of-the-family', 'one'],
} as const

type Options = typeof options
export type OptionName = keyof Options
export type Variant = { readonly [Name in OptionName]: Options[Name][number] }

const names = Object.keys(options) as readonly OptionName[]

export const plain = Object.fromEntries(names.map(name => [name, options[name][0]])) as Variant

export const variant = (changes: Partial<Variant>): Variant => ({ ...plain, ...changes })

/** One variant for each value that is not plain. */
export const singleChanges: readonly Partial<Variant>[] = names.flatMap(name =>
  options[name].slice(1).map(value => ({ [name]: value }) as Partial<Variant>),
)

/** A random variant: each option is changed with this probability. */
export function randomVariant(seed: number, probability: number): Partial<Variant> {
  const next = numbers(seed)
  const changes = names.flatMap(name => {
    const values = options[name]
    return next() < probability ? [[name, values[Math.floor(next() * values.length)]] as const] : []
  })
  return Object.fromEntries(changes) as Partial<Variant>
}

/** Numbers from 0 to 1: a linear congruential generator, which is random enough to choose options. */
export function numbers(seed: number): () => number {
  let state = (seed * 2_654_435_761) % 4_294_967_296
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

export const describeChanges = (changes: Partial<Variant>): string =>
  Object.entries(changes)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ') || 'plain'
