import { describe, expect, test } from 'vitest'
import type { LimiterAlgorithm } from '../../../../../src/contract/contract.ts'
import { getOrAdd } from '../../../../../src/judge/merge.ts'
import { randomStream } from '../../../../../src/lib/random.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import { todays } from '../../../../support/nightly.ts'
import {
  chatDescriptor,
  failure,
  observed,
  responseOf,
  result,
  singleDescriptor,
  startedAtMs,
} from '../../checks/observed.ts'
import { judge } from './judge-limits.ts'

type Algorithm = Exclude<LimiterAlgorithm, 'gcra' | 'sliding-counter'>
type Counts = 'requests' | 'input-tokens' | 'output-tokens'

/** One limit of a gateway, as it counts by itself. */
type Meter = {
  readonly used: (nowMs: number) => number
  readonly add: (nowMs: number, amount: number) => void
  /** Unused tokens come back to the window that they were reserved in. */
  readonly giveBack: (reservedMs: number, nowMs: number, amount: number) => void
  readonly endMs: (nowMs: number) => number
}

function meter(algorithm: Algorithm, amount: number, windowMs: number): Meter {
  let log: { readonly atMs: number; readonly amount: number }[] = []
  let [level, knownMs, startMs] = [0, 0, Number.NEGATIVE_INFINITY]
  const rate = amount / windowMs
  const move = (nowMs: number) => {
    if (algorithm === 'token-bucket') {
      level = Math.max(0, level - (nowMs - knownMs) * rate)
      knownMs = nowMs
    } else if (algorithm === 'sliding-log') log = log.filter(({ atMs }) => atMs > nowMs - windowMs)
    else if (nowMs >= startMs + windowMs) {
      startMs = algorithm === 'aligned-window' ? Math.floor(nowMs / windowMs) * windowMs : nowMs
      log = []
    }
  }
  const sum = () => log.reduce((total, each) => total + each.amount, 0)
  return {
    used: nowMs => {
      move(nowMs)
      return algorithm === 'token-bucket' ? Math.ceil(level) : sum()
    },
    add: (nowMs, added) => {
      move(nowMs)
      if (algorithm === 'token-bucket') level += added
      else log.push({ atMs: nowMs, amount: added })
    },
    giveBack: (reservedMs, nowMs, back) => {
      move(nowMs)
      if (algorithm === 'token-bucket') level = Math.max(0, level - back)
      else log = log.map(each => (each.atMs === reservedMs ? { ...each, amount: each.amount - back } : each))
    },
    endMs: nowMs => {
      move(nowMs)
      if (algorithm === 'token-bucket') return nowMs + level / rate
      return algorithm === 'sliding-log' ? (log[0]?.atMs ?? nowMs) + windowMs : startMs + windowMs
    },
  }
}

type Lie = {
  readonly admits?: (used: number, need: number, amount: number) => boolean
  readonly remaining?: (left: number, amount: number) => number
  readonly counts?: (amount: number) => number
  readonly endMs?: (endMs: number) => number
  /** Whether refused requests count, too, which no sentence forbids. */
  readonly countsRefused?: boolean
}

const windowMs = 20_000
const amounts = { requests: 12, 'input-tokens': 36_000, 'output-tokens': 1_200 } as const
const [input, bound, output] = [2_000, 120, 80]

/** Random traffic to a gateway with one further limit, in the order in which responses end. */
function gateway(counts: Counts, algorithm: Algorithm, seed: number, lie: Lie = {}): readonly Observation[] {
  const amount = amounts[counts]
  const random = randomStream(seed, `${counts} ${algorithm}`)
  const one = meter(algorithm, amount, windowMs)
  const { admits = (used, need, max) => used + need <= max, remaining = left => left, counts: says = all => all } = lie
  const request = {
    ...chatDescriptor,
    model: 'ref-large-235b',
    modelTier: 'L' as const,
    promptTokens: input,
    maxCompletionTokens: bound,
  }
  const reserve = { requests: 1, 'input-tokens': input, 'output-tokens': bound }[counts]
  const back = counts === 'output-tokens' ? bound - output : 0
  let sentMs = 10
  const plan = Array.from({ length: 320 }, (_, id) => {
    // Bursts, and between them a long time.
    sentMs += id % 40 === 0 ? 30_000 + random.int(30_000) : random.next() < 0.5 ? random.int(30) : random.int(700)
    const arrivedMs = sentMs + 1 + random.next() * 300
    return { id, sentMs, arrivedMs, headersMs: arrivedMs + 1 + random.next() * 300 }
  }).map(each => ({ ...each, endMs: each.headersMs + random.next() * 900 }))
  const returns: { readonly atMs: number; readonly done: () => void }[] = []
  const responses = plan
    .toSorted((a, b) => a.arrivedMs - b.arrivedMs)
    .map(({ id, arrivedMs, ...times }) => {
      for (const each of returns.filter(({ atMs }) => atMs <= arrivedMs)) each.done()
      returns.splice(0, returns.length, ...returns.filter(({ atMs }) => atMs > arrivedMs))
      const nowMs = startedAtMs + arrivedMs
      const isAdmitted = admits(one.used(nowMs), reserve, amount)
      // An empty bucket has nothing left to take.
      if (!isAdmitted && lie.countsRefused === true && algorithm !== 'token-bucket') one.add(nowMs, reserve)
      if (isAdmitted) {
        one.add(nowMs, says(reserve))
        if (back > 0)
          returns.push({ atMs: times.endMs, done: () => one.giveBack(nowMs, startedAtMs + times.endMs, says(back)) })
      }
      const left = remaining(Math.max(0, Math.floor(amount - one.used(nowMs))), amount)
      const end = new Date(Math.ceil((lie.endMs ?? (ms => ms))(one.endMs(nowMs)))).toISOString()
      const headers = {
        date: new Date(nowMs).toUTCString(),
        [`anthropic-ratelimit-${counts}-limit`]: String(amount),
        [`anthropic-ratelimit-${counts}-remaining`]: String(left),
        [`anthropic-ratelimit-${counts}-reset`]: end,
      }
      const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
      const body = isAdmitted ? { usage } : { error: 'Slow down' }
      return observed(request, responseOf(isAdmitted ? 200 : 429, body, headers), {
        ...{ id, dueMs: times.sentMs, ...times },
      })
    })
  return responses.toSorted((a, b) => (a.endMs ?? 0) - (b.endMs ?? 0))
}

function clausesOf(counts: Counts, algorithm: Algorithm, observations: readonly Observation[], known = true) {
  const at = (part: string, form: 'number' | 'date-time') => ({
    ...{ header: `anthropic-ratelimit-${counts}-${part}`, form, member: null },
  })
  const headers = {
    limit: at('limit', 'number'),
    remaining: at('remaining', 'number'),
    reset: at('reset', 'date-time'),
  }
  const limit = {
    ...{ counts, amount: amounts[counts], windowMs, algorithm: known ? algorithm : null, headers },
    ...{ units: null, unused: 'returned' as const },
  }
  const judged = judge(observations, {
    ...{ limit: 10_000, tokenLimit: 100_000_000, scope: 'account', published: false, algorithm: null },
    limits: { dialect: 'none', further: { own: limit } },
  })
  return { clauses: [...new Set(judged.findings.map(({ clause }) => clause))].toSorted(), ...judged }
}

const algorithms = ['fixed-window', 'aligned-window', 'sliding-log', 'token-bucket'] as const
const units = ['requests', 'input-tokens', 'output-tokens'] as const
const pairs = units.flatMap(counts => algorithms.map(algorithm => ({ counts, algorithm })))

describe.each(pairs)('a further limit of $counts in $algorithm', ({ counts, algorithm }) => {
  const family = counts === 'requests' ? 'limit.requests' : 'limit.tokens'
  const found = (lie: Lie, seed = 1) => clausesOf(counts, algorithm, gateway(counts, algorithm, seed, lie)).clauses

  test('an honest gateway is accused of nothing, also where the algorithm is open', () => {
    for (const seed of todays([1, 2, 3, 4, 5, 6], 3)) {
      const honest = gateway(counts, algorithm, seed)
      expect(honest.some(({ response }) => response?.status === 429)).toBe(true)
      const { findings, judged } = clausesOf(counts, algorithm, honest)
      expect(findings).toEqual([])
      expect(judged[`${family}.remaining`]).toBeGreaterThan(0)
      expect(clausesOf(counts, algorithm, honest, false).findings).toEqual([])
    }
  })

  test('lies are named', () => {
    expect(found({ admits: () => true })).toContain(`${family}.enforced`)
    expect(found({ remaining: (_, amount) => amount })).toContain(`${family}.remaining`)
    expect(found({ remaining: (_, amount) => Math.floor(amount / 2) })).toContain(`${family}.remaining`)
    expect(found({ remaining: (left, amount) => Math.max(0, left - amount / 2) })).toContain(`${family}.remaining`)
    expect(found({ counts: all => all / 2 })).toContain(`${family}.remaining`)
    // It bites at half its amount, and states that nothing is left.
    const half = (used: number, need: number, amount: number) => used + need <= amount / 2
    const early = { admits: half, remaining: (left: number, amount: number) => Math.max(0, left - amount / 2) }
    expect(found(early).some(clause => clause === 'limit.requests.not-early' || clause === `${family}.remaining`)).toBe(
      true,
    )
  })
})

/** Judged by what is accepted and refused alone. */
function byCounts(algorithm: Algorithm, observations: readonly Observation[], known: boolean, more: Counts[] = []) {
  const further = (['requests', ...more] as const).map(counts => {
    const limit = { counts, amount: amounts[counts], windowMs, algorithm: known ? algorithm : null, headers: {} }
    return [counts, { ...limit, units: null, unused: null }]
  })
  return judge(observations, {
    ...{ scope: 'account', published: false, algorithm: null },
    limits: { dialect: 'none', judgedBy: 'target', further: Object.fromEntries(further) },
  })
}

const cannotTell = ['aligned-window']

const honest: Lie = {}
const countingRefused: Lie = { countsRefused: true }
const early: Lie = { admits: (used, need, max) => used + need <= 0.7 * max }
const unlimited: Lie = { admits: () => true }

describe.each(algorithms)('a limit of requests in %s that states nothing', algorithm => {
  const seeds = todays(
    Array.from({ length: 25 }, (_, index) => index + 1),
    5,
  )
  const traffic = new Map<Lie, readonly (readonly Observation[])[]>()
  const trafficOf = (lie: Lie) =>
    getOrAdd(traffic, lie, () => seeds.map(seed => gateway('requests', algorithm, seed, lie)))
  const named = (lie: Lie, known: boolean, more: Counts[] = []) =>
    trafficOf(lie).map(observations => {
      const { findings } = byCounts(algorithm, observations, known, more)
      return [...new Set(findings.map(({ clause }) => clause))].join()
    })
  const inAll = (clause: string) => seeds.map(() => clause)

  test.each([true, false])('is accused of nothing if it is honest, and is judged (known: %s)', known => {
    expect(named(honest, known)).toEqual(inAll(''))
    expect(named(countingRefused, known)).toEqual(inAll(''))
    const { judged } = byCounts(algorithm, gateway('requests', algorithm, 1), known)
    expect(judged['limit.requests.not-early']).toBeGreaterThan(3)
    expect(judged['limit.requests.enforced']).toBeGreaterThan(3)
  })

  test.each([true, false])('and bites before its amount is early (known: %s)', known => {
    const found = named(early, known)
    // Where two windows may count, the time between two bursts may be too short.
    expect(new Set(found.filter(each => known || each !== ''))).toEqual(new Set(['limit.requests.not-early']))
    // Another limit may have refused it.
    expect(named(early, known, ['input-tokens'])).toEqual(inAll(''))
  })

  test('and never bites is not enforced, whether or not its algorithm is known', () => {
    expect(named(unlimited, true)).toEqual(inAll('limit.requests.enforced'))
    expect(named(unlimited, false)).toEqual(inAll('limit.requests.enforced'))
  })

  test('and admits a tenth more is not enforced, if its windows can be told', () => {
    const found = named({ admits: (used, need, max) => used + need <= Math.ceil(1.1 * max) }, true)
    if (cannotTell.includes(algorithm)) expect(new Set(found)).not.toContain('limit.requests.not-early')
    else expect(found).toEqual(inAll('limit.requests.enforced'))
  })
})

describe('a limit of 100 units in 10 s', () => {
  type Answer = 'all' | 'none' | 'refused'
  /** Calls of these methods in one request: all succeed, all fail, or a limit refuses them. */
  type Sent = readonly [atMs: number, methods: readonly string[], answer?: Answer]

  const responseTo = (methods: readonly string[], answer: Answer) => {
    if (answer === 'refused') return responseOf(429, { error: 'Slow down' })
    const each = methods.map((_, index) => (answer === 'all' ? result(index + 1) : failure(index + 1)))
    return responseOf(200, methods.length === 1 ? each[0] : each)
  }
  const found = (algorithm: Algorithm, sent: readonly Sent[]) => {
    const first: Sent = [10, ['eth_chainId']]
    const observations = [first, ...sent].map(([sentMs, methods, answer = 'all'], id) => {
      const items = methods.map((method, index) => ({ id: index + 1, method, failing: false }))
      const times = { dueMs: sentMs, sentMs, headersMs: sentMs + 20, endMs: sentMs + 20 }
      const request = { ...singleDescriptor, batch: methods.length > 1, items }
      return observed(request, responseTo(methods, answer), { id, ...times })
    })
    const units = { eth_call: 26, eth_getBalance: 19, default: 10 }
    const compute = { units, amount: 100, windowMs: 10_000, algorithm, headers: {}, unused: null }
    const { findings, judged } = judge(observations, {
      ...{ scope: 'account', published: false, algorithm: null },
      limits: { dialect: 'none', judgedBy: 'target', further: { compute: { ...compute, counts: 'requests' } } },
    })
    const clauses = findings.map(({ clause }) => clause)
    return { clauses, messages: findings.map(({ message }) => message), judged }
  }
  const times = (count: number, fromMs: number, method: string, answer: Answer = 'all'): readonly Sent[] =>
    Array.from({ length: count }, (_, index): Sent => [fromMs + 100 * index, [method], answer])

  test('may refuse a batch and accept single calls in the same window', () => {
    const sent: readonly Sent[] = [
      ...times(3, 40_000, 'eth_call'),
      [45_000, ['eth_call', 'eth_call'], 'refused'],
      ...times(2, 46_000, 'eth_chainId'),
      ...times(3, 50_500, 'eth_call'),
      ...times(2, 51_000, 'net_version'),
    ]
    expect(found('fixed-window', sent).clauses).toEqual([])
    expect(found('fixed-window', sent).judged['limit.requests.not-early']).toBe(1)
  })

  test('is full when it refuses the smallest call, so the next window begins after that', () => {
    const sent: readonly Sent[] = [
      ...times(3, 40_000, 'eth_call'),
      ...times(2, 41_000, 'eth_chainId'),
      [49_000, ['eth_chainId'], 'refused'],
      ...times(4, 50_500, 'eth_call'),
    ]
    expect(found('fixed-window', sent).messages).toEqual([
      '104 of 100 units of rpc (compute) were used when a request was accepted, expected a 429',
    ])
  })

  test.each(algorithms)('is early if a batch still fits, and not if it does not: %s', algorithm => {
    const used = times(2, 40_000, 'eth_call')
    expect(found(algorithm, [...used, [40_300, ['eth_call', 'eth_getBalance'], 'refused']]).messages).toEqual([
      'a 429 came after at most 52 of 100 units of rpc (compute) were used, expected it only above the limit',
    ])
    const tooMany = ['eth_call', 'eth_getBalance', 'eth_blockNumber']
    expect(found(algorithm, [...used, [40_300, tooMany, 'refused']]).clauses).toEqual([])
  })

  test('may count nothing for calls that fail, and their units too', () => {
    const failing = times(10, 40_000, 'eth_call', 'none')
    expect(found('sliding-log', failing).clauses).toEqual([])
    expect(found('sliding-log', [...failing, [42_000, ['eth_call'], 'refused']]).clauses).toEqual([])
    expect(found('sliding-log', times(10, 40_000, 'eth_call')).clauses).toEqual(['limit.requests.enforced'])
  })
})
