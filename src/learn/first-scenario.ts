import { type FurtherLimit, furtherLimitsOf, windowsOf } from '../contract/limit-headers/further-limits.ts'
import { probeOf } from '../contract/probes.ts'
import { notPromised } from '../contract/promises.ts'
import { is2xx } from '../lib/numbers.ts'
import { yamlComment, yamlText } from '../lib/write-yaml.ts'
import { statedRequests } from '../observation/limit-scope.ts'
import { tokenLimitProbes } from './ask-access.ts'
import { isStreamAnswer } from './ask-chat.ts'
import { isLimitReached, isRpcAnswer, protocolProbes } from './ask-rpc.ts'
import type { Answer } from './asker.ts'
import type { Lesson } from './learn.ts'
import { brief, type ChatUse, isService, standardMethods } from './question.ts'
import { restOf } from './rest-of-limit.ts'

/** What decides how much a first scenario sends. */
export type FirstLoad = {
  /** 100 % of tier by the profile, in arrivals per minute; null if it has no limit for these calls. */
  readonly tierPerMinute: number | null
  /** null: the scenario has no budget. */
  readonly budgetUsd: string | null
}

/**
 * A scenario that runs with the learned profile as it is: one caller, the calls that the target has answered, and a rate
 * below the limits that it states.
 */
export function firstScenario(lesson: Lesson, { tierPerMinute, budgetUsd }: FirstLoad): string {
  const counted = countedLimit(lesson)
  const limit = counted?.amount ?? statedLimit(lesson)
  const rest = restOf(lesson, limit)
  const left = rest?.requests ?? null
  const leftOut = leftOutOf(lesson)
  const calls = callsOf(lesson, left !== 0)
  const mix = `{ ${calls.map(([name, , weight = 1]) => `${name}: ${weight}`).join(', ')} }`
  const { sharesLimit, accountTier, unitsEach } = lesson.known
  const { windowMs } = counted ?? lesson.contract.limits
  const all = onceCalls(lesson, calls)
  const once = left === null ? all : fittingOnce(all, left / 2)
  const last = calls.at(-1)?.[0] ?? ''
  const edge = counted === null && left === null && unitsEach === 1 ? edgeOf(last, limit, windowMs, once) : null
  const atLast = edge === null && counted === null ? lastStage(lesson, last, limit) : []
  const { rate, seconds } = left
    ? rateOfRest(left - requestsOf(once), rest)
    : rateWithin(rateBelow(tierPerMinute, limit === null ? null : (limit * 60_000) / windowMs), lesson, edge !== null)
  const rules = left === null ? rulesOf(lesson, edge !== null) : []
  const requests = Math.ceil((seconds * rate.perMinute) / 60) + requestsOf(once) + rules.length
  const list = edge !== null && calls.every(([name]) => name !== 'models') && lesson.replies.some(isModelList)
  return [
    '# yaml-language-server: $schema=../node_modules/turnpike/scenarios/scenario.schema.json',
    '#',
    ...yamlComment(
      'Written for one target, from what it answered. It sends what the target has, at a rate below the limits that it states.',
    ),
    ...(leftOut.length === 0
      ? []
      : yamlComment(`Left out, since it would take longer than a minute: ${leftOut.join(', ')}.`)),
    'name: first',
    'question: Does the target keep what its profile promises?',
    'profile: profile.yaml',
    'seed: 1',
    '',
    '# One caller needs one key, the first of TURNPIKE_KEYS. Each further caller needs a key of another account.',
    ...(sharesLimit ? ['# Two callers seem to share a limit.'] : []),
    `callers: { count: ${sharesLimit ? 2 : 1}, tier: ${accountTier} }`,
    '',
    'calls:',
    ...calls.map(([name, call]) => `  ${name}: ${call}`),
    ...(list ? ['  models: { kind: models }'] : []),
    ...once.flatMap(({ definitions }) => definitions.map(each => `  ${each}`)),
    '',
    'stages:',
    ...(counted !== null
      ? burstStages(last, counted)
      : left === null
        ? waitStages(lesson, limit, edge === null ? requests : null, list)
        : refillStage(rest?.pauseMs ?? 0)),
    ...rulesStage(rules, limit),
    ...(edge?.atOnce ?? []),
    ...yamlComment(rate.reason).map(line => `  ${line}`),
    `  - { name: steady, duration: ${seconds}s, shape: constant, rate: ${rate.text}, mix: ${mix} }`,
    ...(edge?.oneByOne ?? onceStage(left === null ? limit : null, once)),
    ...atLast,
    ...(counted === null ? [] : overloadStage(last, counted)),
    '',
    ...(budgetUsd === null ? [] : ['# Twice the worst case of the forecast.', `budget: { usd: ${budgetUsd} }`, '']),
    'thresholds:',
    '  - { expect: violations == 0, why: The profile states each of these rules. }',
    '  - { expect: failed <= 5%, why: A network may break a few connections; more is an outage. }',
    ...(atLast.length === 0
      ? ['  - { expect: unexpected-429 == 0, why: The target must accept what is within its limits. }']
      : [
          // A refusal at last may come of what was sent before the run.
          '  - { expect: status(429) in steady == 0, why: The target must accept what is within its limits. }',
          `  - { expect: status(429) of ${last} in limit > 0, why: The target must refuse what is above its limit. }`,
        ]),
    '',
  ].join('\n')
}

/** Requests that are enough to see every call several times, if they fit into the time. */
const arrivals = 12
const [minSeconds, maxSeconds] = [12, 60]

/** Half of the time is enough where other stages send more. */
function rateWithin(rate: FirstRate, { isBrief }: Lesson, isHalved: boolean): FirstLoadOverTime {
  const most = isBrief ? maxSeconds / 2 : maxSeconds
  const seconds = Math.min(most, Math.max(minSeconds, (arrivals * 60) / rate.perMinute))
  return { rate, seconds: Math.ceil(isHalved ? seconds / 2 : seconds) }
}

type FirstLoadOverTime = { readonly rate: FirstRate; readonly seconds: number }

/** What is left of a limit whose next window is too far away, or of one that is unknown. */
function rateOfRest(left: number, rest: ReturnType<typeof restOf>): FirstLoadOverTime {
  const { pauseMs = 0, everyMs = null } = rest ?? {}
  const paced = everyMs === null ? 0 : (minSeconds * 1_000) / everyMs
  const count = Math.max(1, Math.min(arrivals, Math.floor(share * Math.max(left, paced))))
  const perMinute = (count * 60) / minSeconds
  const reason =
    paced > left
      ? `Each refusal ended within ${tenths((everyMs ?? 0) / 1_000)} s, so this is less than one request in that time.`
      : pauseMs > 0
        ? `After the pause, at least ${left} requests fit, as far as the refusals so far tell.`
        : `The limit has at least ${left} requests left until its next window.`
  return { rate: { text: `${perMinute}/m`, perMinute, reason }, seconds: minSeconds }
}

function refillStage(pauseMs: number): readonly string[] {
  if (pauseMs === 0) return []
  return [
    '  # A limit that no response states refused a question. It has recovered from each refusal in less than this.',
    `  - { name: refill, duration: ${pauseMs}ms, shape: pause }`,
  ]
}

/** What a first run within a minute leaves out. */
export function leftOutOf(lesson: Lesson): readonly string[] {
  const limit = statedLimit(lesson)
  const isLater = lesson.isBrief && lastStage({ ...lesson, isBrief: false }, '', limit).length > 0
  return [
    ...lesson.leftOut,
    ...(isLater && lastStage(lesson, '', limit).length === 0 ? [`the edge of a limit of ${limit} requests`] : []),
    ...(restOf(lesson, limit)?.requests === 0 ? ['what a limit refuses now'] : []),
  ]
}

/** Arrivals per minute where no limit is known, and where a larger one is. */
const [modest, most] = [60, 300]

/** Of each limit, at most, so that a user of the same key finds some left. */
const share = 0.75

type FirstRate = { readonly text: string; readonly perMinute: number; readonly reason: string }

function rateBelow(tier: number | null, stated: number | null): FirstRate {
  const limit = Math.min(tier ?? Number.POSITIVE_INFINITY, stated ?? Number.POSITIVE_INFINITY)
  if (limit === Number.POSITIVE_INFINITY)
    return { text: `${modest}/m`, perMinute: modest, reason: 'No limit is known, so this is a modest rate.' }
  const reason = `At most three quarters of the limit, which is ${tenths(limit)} requests per minute.`
  const percent = Math.floor(Math.min(100 * share, (most / limit) * 100))
  if (limit === tier && percent > 0) return { text: `${percent}% of tier`, perMinute: (limit * percent) / 100, reason }
  const perMinute = tenths(Math.min(most, limit * share))
  return { text: `${perMinute}/m`, perMinute, reason }
}

/** At least a tenth, so that something is sent. */
const tenths = (perMinute: number): number => Math.max(1, Math.floor(perMinute * 10)) / 10

type WrittenCall = readonly [name: string, call: string, weight?: number]

/** The calls that the target answered, as a scenario writes them. */
function callsOf({ known, replies }: Lesson, isLimited: boolean): readonly WrittenCall[] {
  const { networks, limits } = known
  const { chat, rpc } = isLimited ? known : { chat: null, rpc: null }
  const calls: WrittenCall[] = []
  if (chat !== null) {
    const size = sizeOf(chat)
    if (replies.some(isStreamAnswer)) calls.push(['chat', `{ kind: chat, stream: true, ${size} }`])
    calls.push(['chat-whole', `{ kind: chat, stream: false, ${size} }`])
  }
  if (rpc !== null) {
    const network = rpc.isNode ? '' : `network: ${yamlText(rpc.network)}, network-family: ${rpc.family}, `
    const methods = `${network}methods: { ${standardMethods[rpc.family]}: 1 }`
    // With a failing item, a batch puts every rule of a node to the test. It is rare, in case that limits count items.
    const isBatched = replies.some(
      ({ status, body }) => is2xx(status) && Array.isArray(body) && body.every(isRpcAnswer),
    )
    const size = Math.min(4, known.batchLimit)
    if (rpc.isNode && isBatched && size > 1)
      calls.push(['batch', `{ kind: rpc-batch, ${methods}, size: ${size}, failing-items: 1 }`])
    calls.push(['rpc', `{ kind: rpc, ${methods} }`, rpc.isNode ? 4 : 1])
  }
  if (calls.length > 0) return calls
  const list = networks.length > 0 ? 'networks' : limits.size > 0 ? 'rate-limits' : 'models'
  return [[list, `{ kind: ${list} }`]]
}

/**
 * The probes of what the target promises for requests that are no ordinary calls. A limit may count those that are refused,
 * so none comes before a limit is exceeded to the request.
 */
function rulesOf({ known, contract }: Lesson, isExceeded: boolean): readonly string[] {
  const missing = notPromised(contract)
  const rules = [
    ...(known.rpc?.isNode === true ? protocolProbes : []),
    ...(known.chat !== null && !isExceeded ? tokenLimitProbes : []),
  ]
  return rules.filter(name => !missing.includes(probeOf(name).clause))
}

/** Each of them once. */
function rulesStage(asked: readonly string[], limit: number | null): readonly string[] {
  if (asked.length === 0 || (limit !== null && limit < 4 * asked.length)) return []
  return [
    '  # Requests that the profile has a rule for. Others, whose rules the target has broken, are exceptions in it.',
    `  - { name: rules, duration: 5s, shape: sequence, calls: [${asked.join(', ')}] }`,
  ]
}

/** The smallest limit that responses state in a dialect, in requests of a window. Others are limits of the tier. */
function statedLimit({ replies, contract, known }: Lesson): number | null {
  if (contract.limits.dialect === null) return null
  const limits = replies.flatMap(({ headers, status }) =>
    is2xx(status) || status === 429 ? (statedRequests(headers, contract).limit ?? []) : [],
  )
  const least = Math.min(...limits.filter(limit => limit > 0))
  return Number.isFinite(least) ? Math.max(1, Math.floor(least / known.unitsEach)) : null
}

/** A limit that responses do not state, and that was counted; null: there is none. */
const countedLimit = ({ contract: { limits } }: Lesson): FurtherLimit | null =>
  limits.dialect === 'none' ? (furtherLimitsOf(limits)[0] ?? null) : null

/** Without headers, a 429 is early only if all that may count is known: after as long as that. */
function burstStages(call: string, limit: FurtherLimit): readonly string[] {
  const quietMs = windowsOf(limit) * limit.windowMs + 3_000
  return [
    '  # The first request says when the run began. After the pause, nothing that came before it counts.',
    `  - { name: begin, duration: 1s, shape: sequence, calls: [${call}] }`,
    `  - { name: quiet, duration: ${quietMs}ms, shape: pause }`,
    `  # The limit is ${limit.amount} requests, so none of these is refused.`,
    `  - { name: limit, duration: 2s, shape: burst, size: ${limit.amount}, exceed-tier: true, mix: { ${call}: 1 } }`,
    `  - { name: after, duration: ${quietMs}ms, shape: pause }`,
  ]
}

/** So that each window begins right after a refusal, and that no two windows allow what a target without a limit accepts. */
function overloadStage(call: string, { amount, windowMs }: FurtherLimit): readonly string[] {
  const rate = ((2.4 * amount * 60_000) / windowMs).toFixed(1)
  return [
    '  # More than the limit, all the time.',
    `  - { name: overload, duration: ${Math.ceil(3.2 * windowMs)}ms, shape: constant, rate: ${rate}/m, exceed-tier: true, mix: { ${call}: 1 } }`,
  ]
}

/** What is sent once. `definitions`: of its calls, in the scenario; `requests`: what it may draw on a limit. */
type OnceCall = { readonly name: string; readonly definitions: readonly string[]; readonly requests: number }

/**
 * A repeated completion, if keys repeat them: the original, its repetition, and another body with its key. Twins. Where the
 * balance is known, a request that fails, and so costs nothing.
 */
function onceCalls({ contract, known }: Lesson, calls: readonly WrittenCall[]): readonly OnceCall[] {
  const has = (name: string) => calls.some(([each]) => each === name)
  const missing = notPromised(contract)
  const conflict = missing.includes('rpc.replay.conflict') ? '' : ', conflict-ratio: 1'
  const isRepeated = has('chat-whole') && contract.idempotency.calls.includes('chat')
  return [
    ...(isRepeated
      ? [{ name: 'replay', definitions: [`replay: { kind: replay, of: chat-whole${conflict} }`], requests: 3 }]
      : []),
    ...(isRepeated && contract.idempotency.concurrent === 'one-charge'
      ? [{ name: 'race', definitions: ['race: { kind: replay, of: chat-whole, concurrent: true }'], requests: 2 }]
      : []),
    ...(has('chat') && has('chat-whole') && !missing.includes('twin.tokens')
      ? [
          {
            name: 'both-forms',
            definitions: ['both-forms: { kind: twin, of: chat-whole, as: [streamed] }'],
            requests: 2,
          },
        ]
      : []),
    ...(has('chat-whole') && contract.billing.balance.path !== null
      ? [{ name: 'messages-missing', definitions: [], requests: 1 }]
      : []),
    ...(known.chat !== null && known.takesSeeds && !missing.includes('twin.length')
      ? [{ name: 'shorter', definitions: shorterCalls(known.chat), requests: 2 }]
      : []),
  ]
}

/** The fields that all its completions have. */
const sizeOf = ({ model }: ChatUse): string =>
  `model: ${yamlText(model.id)}, prompt-tokens: 20, max-completion-tokens: 16`

const shorterCalls = (chat: ChatUse): readonly string[] => [
  `seeded: { kind: chat, ${sizeOf(chat)}, body: { temperature: 0, seed: 1 } }`,
  'shorter: { kind: twin, of: seeded, as: [shorter] }',
]

const requestsOf = (once: readonly OnceCall[]): number => once.reduce((sum, { requests }) => sum + requests, 0)

/** A stage of their own, unless the limit is too small for it beside others. */
function onceStage(limit: number | null, once: readonly OnceCall[]): readonly string[] {
  if (once.length === 0 || (limit !== null && limit < 4 * requestsOf(once))) return []
  return [`  - { name: once, duration: 1s, shape: sequence, calls: [${once.map(({ name }) => name).join(', ')}] }`]
}

/** As many as fit. */
const fittingOnce = (once: readonly OnceCall[], most: number): readonly OnceCall[] =>
  once.filter((_, index) => requestsOf(once.slice(0, index + 1)) <= most)

/** Requests that are enough to exceed a limit; where a window is not waited for; and where that takes long. */
const [maxBurst, maxLateBurst] = [25, 120]
const beyond = 3

/** Exceeds a limit whose windows are not waited for, as the last thing, since nothing is left of it after that. */
function lastStage(lesson: Lesson, call: string, limit: number | null): readonly string[] {
  const { isBrief, contract } = lesson
  const { windowMs } = contract.limits
  const isKnown =
    limit !== null &&
    restOf(lesson, limit)?.requests !== 0 &&
    !notPromised(contract).includes('limit.requests.enforced')
  const isWaitedFor = windowMs <= (isBrief ? brief.windowMs : longestWindowMs) && (limit ?? 0) + beyond <= maxBurst
  const isTooLong = isBrief && windowMs > longestWindowMs
  if (!isKnown || isService(lesson.known) || isWaitedFor || isTooLong) return []
  if (limit + beyond > (isBrief ? maxBurst : maxLateBurst)) return []
  return [
    `  # The limit is ${limit} requests, so at least ${beyond} of these must be refused.`,
    `  - { name: limit, duration: 2s, shape: burst, size: ${limit + beyond}, exceed-tier: true, mix: { ${call}: 1 } }`,
  ]
}

/**
 * A small limit is exceeded at once, when nothing before it counts. Then it is used up one by one, with the calls that are
 * sent once as the last ones.
 */
function edgeOf(
  call: string,
  limit: number | null,
  windowMs: number,
  once: readonly OnceCall[],
): { readonly atOnce: readonly string[]; readonly oneByOne: readonly string[] } | null {
  if (limit === null || limit + beyond > maxBurst || windowMs > longestWindowMs) return null
  const burst = `duration: 2s, shape: burst, size: ${limit + beyond}, exceed-tier: true, mix: { ${call}: 1 }`
  // A falling rate: at its begin, and after about 0.5 and 1.6 windows, so that a refusal may begin a window, too.
  const againMs = 1.9 * windowMs
  const fitting = fittingOnce(once, limit)
  const left = limit - requestsOf(fitting)
  const oneByOne = [...(left === 0 ? [] : [`${left} x ${call}`]), ...fitting.map(({ name }) => name)]
  const again = `duration: ${againMs}ms, shape: ramp, from: ${((4.1 * 60_000) / againMs).toFixed(2)}/m, to: 0.01/m`
  return {
    atOnce: [
      `  # The limit is ${limit} requests, so ${beyond} of these must be refused.`,
      `  - { name: limit, ${burst} }`,
      '  # The second of three is in the same window. It is refused, unless a 429 has stated a wait that was too short.',
      `  - { name: again, ${again}, exceed-tier: true, mix: { ${call}: 1 } }`,
    ],
    oneByOne: [
      '  # One at a time, so each response states fewer remaining requests.',
      `  - { name: pause, duration: ${windowMs + 1_000}ms, shape: pause }`,
      `  - { name: one-by-one, duration: 1s, shape: sequence, calls: [${oneByOne.join(', ')}] }`,
    ],
  }
}

const isModelList = ({ observation, status }: Answer): boolean =>
  observation?.request.kind === 'models' && is2xx(status)

/** A longer window is not waited for. */
const longestWindowMs = 60_000
/** Of a window up to this length, two are waited for: then nothing that came before counts, whatever the algorithm. */
const shortWindowMs = 15_000

/**
 * A pause, if the limit has no room for the questions and this many `requests` after them. null: the run exceeds the limit,
 * so the questions may not count. The list says when the run began.
 */
function waitStages(
  { replies, contract }: Lesson,
  limit: number | null,
  requests: number | null,
  list: boolean,
): readonly string[] {
  const isUsed =
    replies.some(isLimitReached) || (limit !== null && (requests === null || limit < replies.length + requests))
  if (!isUsed) return []
  const windowMs = Math.min(longestWindowMs, contract.limits.windowMs)
  const waitMs = (list && windowMs <= shortWindowMs ? 2 : 1) * windowMs + 1_000
  return [
    '  # The questions that came before have used much of a limit. After this, they no longer count.',
    ...(list ? ['  - { name: list, duration: 1s, shape: sequence, calls: [models] }'] : []),
    `  - { name: wait, duration: ${waitMs}ms, shape: pause }`,
  ]
}
