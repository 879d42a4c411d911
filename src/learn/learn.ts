import type { Contract } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { moneyHeaderNames } from '../contract/headers.ts'
import { statedRequests } from '../observation/limit-scope.ts'
import { access, commonHeaders, errorLayout, signInFacts, strictness, tokenLimitRules } from './ask-access.ts'
import { chatReplays, completion, stream, tokenLimits } from './ask-chat.ts'
import { creditPlaces } from './ask-chat-credits.ts'
import { baseCredits, creditPrice, errorPrices, multipliers } from './ask-credits.ts'
import { isBriefWindow, limitDialect, limitEdge } from './ask-limits.ts'
import { limitLog, offer } from './ask-lists.ts'
import { batches, invalidCalls, nodeRules, replays, singleCall } from './ask-rpc.ts'
import { unstatedLimit } from './ask-unstated.ts'
import { type Answer, type Ask, type Asker, type AskerOptions, createAsker, tooLong, unsent } from './asker.ts'
import { type Difference, judgeAnswers } from './judge-answers.ts'
import { detectPartial, learnedContract, loadable, type PartialService } from './learned-contract.ts'
import {
  brief,
  type Fact,
  isService,
  type Known,
  type Question,
  type QuestionAsker,
  unknown,
  type ValuePath,
  value,
} from './question.ts'
import { isLastOfUnstated } from './rest-of-limit.ts'

/** The maximum number of calls. */
export const maxCalls = 60

/** In the order of asking. The last one with calls uses those that are left. */
export const questions: readonly Question[] = [
  offer,
  completion,
  stream,
  singleCall,
  limitDialect,
  access,
  strictness,
  tokenLimitRules,
  batches,
  errorPrices,
  multipliers,
  creditPrice,
  invalidCalls,
  nodeRules,
  replays,
  limitLog,
  baseCredits,
  tokenLimits,
  errorLayout,
  commonHeaders,
  chatReplays,
  creditPlaces,
  limitEdge,
  unstatedLimit,
]

/** Values that a few calls cannot tell, and why. */
const unlearnable = [
  unknown('abuse', 'would need more than 20 failures within 30 s'),
  unknown('limits.windowMs', 'would need requests beyond a limit, or minutes of waiting'),
  unknown('limits.algorithm', 'would need requests beyond a limit'),
  unknown('chat.options and chat.search', 'would need searches, which cost extra'),
  unknown('resources, resourceLimits and pagination', 'an image or a video is too expensive for a look'),
  unknown('billing.settleMs and balanceResolutionUsd', 'would need balances under load'),
  unknown('rpc.methods', 'would need a call for each method'),
  unknown('rpc.oneAtATime', 'would need concurrent calls of a known length'),
] as const

export type Lesson = {
  readonly known: Known
  /** The contract of the findings. */
  readonly contract: Contract
  /** Each value is one that a profile can have. */
  readonly findings: readonly Fact[]
  readonly partial: PartialService | null
  readonly replies: readonly Answer[]
  readonly spentPico: bigint
  /** Whether a first run follows within a minute. */
  readonly isBrief: boolean
  /** What was left out of a brief lesson, since it would take too long before a first run. */
  readonly leftOut: readonly string[]
  /** Why there is nothing to write; null if something was learned. */
  readonly nothing: string | null
}

/**
 * Asks every question that applies, and lets the judges of a run judge the answers by the contract that was learned. A
 * misbehaving target leaves values unknown.
 */
export async function learn(
  options: Omit<AskerOptions, 'maxCalls' | 'maxWaitMs'> & {
    readonly demanded?: Contract | null
    /** Whether a first run follows within a minute: then long waits are left out, and a part of each limit is left. */
    readonly isBrief?: boolean
    /** Its base address: only then, another name in public is learned. */
    readonly target?: string
  },
): Promise<Lesson> {
  const { clock, isBrief = false } = options
  const startedAtMs = clock.wallMs() - clock.nowMs()
  const asker = createAsker({ ...options, maxCalls, ...(isBrief && { maxWaitMs: brief.waitMs }) })
  const findings: Fact[] = [...demandedFacts(options.demanded ?? null)]
  const unjudged: Answer[] = []
  let isCut = false
  let known: Known = {
    contract: learnedContract(findings, null),
    prefix: null,
    models: documentedContract.models,
    networks: [],
    limits: new Map(),
    accountTier: 'default',
    chat: null,
    takesSeeds: false,
    rpc: null,
    batchLimit: 2,
    hasBatchLimit: false,
    sharesLimit: false,
    unitsEach: 1,
    limitClauses: [],
    replayClauses: [],
    creditClauses: [],
    leftOut: [],
  }
  for (const question of questions) {
    if (!question.applies(known)) continue
    const conclusion = await question.answer(
      known,
      bounded(asker, question, known, isBrief, () => (isCut = isBrief)),
    )
    findings.push(...conclusion.findings.map(loadable))
    unjudged.push(...(conclusion.unjudged ?? []))
    known = { ...known, ...conclusion.known }
    known = { ...known, prefix: prefixOf(asker.replies(), known) }
    known = { ...known, contract: learnedContract([...prefixFindings(known, asker.replies()), ...findings], null) }
  }
  const replies = asker.replies()
  if (options.target !== undefined) findings.push(...signInFacts(replies, options.target).map(loadable))
  const partial = detectPartial(known)
  const learned = [...(partial?.findings ?? []), ...prefixFindings(known, replies), ...findings]
  const contract = learnedContract(learned, partial)
  const broken = judgeAnswers(replies, contract, { accountTier: known.accountTier, unjudged, startedAtMs })
  return {
    known,
    contract,
    findings: [...learned, ...broken.map(each => kept(each, contract)), ...stillUnknown(learned)],
    partial,
    replies,
    spentPico: asker.spentPico(),
    isBrief,
    leftOut: [...(isCut ? ['questions that need more of the limit'] : []), ...known.leftOut],
    nothing: isNothing(known) ? whyNothing(replies) : null,
  }
}

/** What a profile says that the target demands of each request. The learned profile has it, too. */
function demandedFacts(demanded: Contract | null): readonly Fact[] {
  if (demanded === null) return []
  const { auth, requestHeaders, requestQuery, paths, idempotency, billing, sources } = demanded
  const said = (path: ValuePath, what: unknown) => value(path, what, 'the given profile')
  const isStated = (path: string) => sources[path] === 'profile'
  return [
    ...(['header', 'scheme'] as const)
      .filter(name => isStated(`auth.${name}`))
      .map(name => said(['auth', name], auth[name])),
    ...(isStated('idempotency.header') ? [said(['idempotency', 'header'], idempotency.header)] : []),
    ...(isStated('billing.balance.path') ? [said(['billing', 'balance'], billing.balance)] : []),
    ...Object.entries(requestHeaders).map(([name, what]) => said(['requestHeaders', name], what)),
    ...Object.entries(requestQuery).map(([name, what]) => said(['requestQuery', name], what)),
    ...Object.entries(paths)
      .filter(([name]) => isStated(`paths.${name}`))
      .map(([name, path]) => said(['paths', name], path)),
  ]
}

/** What no dialect explains: a total that is not a sum, events that are labeled as something else. */
const contradictions: readonly string[] = ['chat.usage.sum', 'chat.stream.content-type']

/** A target that contradicts itself has a defect. So the promise stays, and a run fails on it. */
const kept = (each: Difference, { limits, idempotency }: Contract): Difference =>
  contradictions.includes(each.clause) ||
  (limits.dialect !== null && /^(limit\.requests|limit\.tokens|retry)\./.test(each.clause)) ||
  (idempotency.calls.includes('chat') && /^rpc\.replay\./.test(each.clause))
    ? { ...each, always: false }
    : each

const stillUnknown = (learned: readonly Fact[]): readonly Fact[] => {
  const found = new Set(learned.flatMap(fact => (fact.kind === 'value' ? fact.path.join('.') : [])))
  return unlearnable.filter(fact => fact.kind !== 'unknown' || !found.has(fact.path))
}

/**
 * The contract by which requests are built: as learned so far, with the model and the network that answered. Probes ask
 * this network first, and others only if the target lists them.
 */
function askedContract({ contract, models, chat, rpc, networks }: Known): Contract {
  const listed = Object.entries(contract.rpc.networks).filter(([slug]) => networks.includes(slug))
  const asked = rpc && {
    [rpc.network]: { baseCredits: null, family: rpc.family },
    ...Object.fromEntries(listed),
  }
  return {
    ...contract,
    // Probes use the first model.
    models: chat === null ? contract.models : [chat.model, ...models.filter(({ id }) => id !== chat.model.id)],
    // Otherwise a request has at least an empty object of options.
    chat: { ...contract.chat, systemPromptOption: null, ...(chat && { lengthField: chat.lengthField }) },
    rpc: { ...contract.rpc, networks: asked ?? contract.rpc.networks },
  }
}

/** A question cannot make more calls than it states. */
function bounded(
  asker: Asker,
  { name, calls }: Question,
  known: Known,
  isBrief: boolean,
  onCut: () => void,
): QuestionAsker {
  const contract = askedContract(known)
  let made = 0
  return {
    ...asker,
    isBrief,
    ask: async (request, change = each => each) => {
      if (made++ >= calls) return unsent(name, `not asked, because ${calls} calls are enough`)
      const isKept = isBrief && !isList(request) && request.as !== 'anonymous' && isLastPart(asker.replies(), known)
      const reply = isKept ? unsent(name, keptForRun) : await asker.ask(request, change(contract))
      if (reply.why === keptForRun || reply.why === tooLong) onCut()
      return reply
    },
  }
}

const keptForRun = 'not asked, because a first run needs what is left of the limit'

/** Whether a first run within a minute needs what is left of a limit. */
function isLastPart(replies: readonly Answer[], known: Known): boolean {
  if (isService(known)) return false
  if (isLastOfUnstated(replies)) return true
  const stated = replies.map(({ headers }) => statedRequests(headers, known.contract))
  const { limit, remaining } = stated.findLast(each => each.remaining !== null) ?? { limit: null, remaining: null }
  const isLast = remaining !== null && remaining <= brief.left(limit ?? Number.POSITIVE_INFINITY)
  return isLast && !isBriefWindow(replies, known.contract)
}

const isList = ({ call }: Ask): boolean => ['models', 'networks', 'rate-limits', 'rate-limit-logs'].includes(call.kind)

const moneyHeaders: readonly string[] = Object.values(moneyHeaderNames)
const ownHeaders = [...['version', 'timestamp', 'host-name', 'model-id', 'model-name', 'model-router'], ...moneyHeaders]

/**
 * The prefix that at least two of the service's own headers share; null if there is none. Other gateways state a version
 * and a model, too. So one of the headers must be about money, unless the target has lists that only the service has.
 */
function prefixOf(replies: readonly Answer[], { networks, limits }: Pick<Known, 'networks' | 'limits'>): string | null {
  const found = new Map<string, Set<string>>()
  for (const { headers } of replies) {
    for (const name of Object.keys(headers)) {
      for (const suffix of ownHeaders) {
        const prefix = name.endsWith(suffix) ? name.slice(0, -suffix.length) : ''
        if (/^x-([a-z0-9]+-){1,4}$/.test(prefix) && prefix.length <= maxPrefix)
          found.set(prefix, (found.get(prefix) ?? new Set()).add(suffix))
      }
    }
  }
  const [best] = [...found].sort(([, a], [, b]) => b.size - a.size)
  if (best === undefined || best[1].size < 2) return null
  const isService = networks.length > 0 || limits.size > 0 || moneyHeaders.some(name => best[1].has(name))
  return isService ? best[0] : null
}

const maxPrefix = 60

function prefixFindings({ prefix }: Known, replies: readonly Answer[]): readonly Fact[] {
  const first = replies.find(
    ({ headers }) => prefix !== null && Object.keys(headers).some(name => name.startsWith(prefix)),
  )
  if (prefix === null || first === undefined) return []
  const name = Object.keys(first.headers).find(each => each.startsWith(prefix)) ?? ''
  return [value(['headerPrefix'], prefix, first, `the header ${name}`)]
}

const isNothing = ({ prefix, networks, limits, chat, rpc, models }: Known): boolean =>
  prefix === null &&
  networks.length === 0 &&
  limits.size === 0 &&
  chat === null &&
  rpc === null &&
  models === documentedContract.models

/** What a user can do about a failure of the first connection. */
const remedies: Readonly<Record<string, string>> = {
  'connect-refused': 'no program listens at this address',
  'connect-timeout': 'is the address right, and no firewall between?',
  'name-not-resolved': 'is the host name right?',
  tls: 'if its certificate is private, set NODE_EXTRA_CA_CERTS',
}

function whyNothing(replies: readonly Answer[]): string {
  const answered = replies.filter(({ status }) => status !== null)
  const [first] = answered
  if (first === undefined) {
    const why = replies[0]?.why ?? 'no call was made'
    return `no response could be read (${why}${Object.hasOwn(remedies, why) ? `: ${remedies[why]}` : ''})`
  }
  if (answered.every(({ status }) => status === 401 || status === 403))
    return `it refuses the key with status ${first.status}`
  const type = first.headers['content-type']?.slice(0, 60) ?? 'no content type'
  return `no response is one of such a service; the first has status ${first.status} and ${type}`
}
