import type { Contract } from '../contract/contract.ts'
import { notPromised, promisesAny } from '../contract/promises.ts'
import { sourceOfValue } from '../contract/sources.ts'
import { isLoopback } from '../lib/loopback.ts'
import { formatPico, pico } from '../lib/money.ts'
import { UsageError } from '../lib/usage-error.ts'
import { withoutPayments } from '../scenario/calls/calls.ts'
import { checkTarget } from '../scenario/load-scenario.ts'
import type { BoundsSpec, Scenario, TimeoutsSpec } from '../scenario/schema.ts'
import type { Recorded, Stage } from '../scenario/stage-schema.ts'
import { arrivalsPerSecond, burstArrivals, type LimitOf, tierRatePerMinute } from '../scenario/tier-rate.ts'
import { parseBudget, type Rate } from '../scenario/units.ts'
import { type GivenKeys, withFewerKeys } from './fewer-keys.ts'
import { forecast, sequenceAtMostMs } from './forecast.ts'
import { notDiscovered, type PublishedLimits, planLimits } from './limits.ts'
import { narrowPlan } from './only.ts'
import {
  type Bounds,
  type Call,
  type Load,
  type Mix,
  meanOf,
  type Plan,
  type PlannedValue,
  type Shape,
  type StagePlan,
  type Timeouts,
  totalWeight,
  traitsOf,
} from './plan.ts'
import { type Recordings, recordedLoad } from './recorded-load.ts'
import { samplesToProve } from './sample-size.ts'

/** The values of flags; null if not given. A flag overrides the scenario. */
export type Overrides = {
  readonly seed: number | null
  readonly target: string | null
  readonly budgetUsd: string | null
  /** The maximum that the run may pay for credit of wallets, in USD. */
  readonly topUp?: string | null
  /** The calls and clauses of --only; missing or empty: the whole scenario. */
  readonly only?: readonly string[]
  /** The keys that the run has; missing or null: one for each caller. */
  readonly keys?: GivenKeys | null
}

/** Inputs that are not in the scenario: recorded runs, and limits that the target published. */
type PlanInputs = { readonly recordings: Recordings; readonly publishedLimits: PublishedLimits }

const noInputs: PlanInputs = { recordings: new Map(), publishedLimits: notDiscovered }

const defaultSeed = 1

/** Decides everything that the scenario leaves open. The same inputs give the same plan, byte for byte. Throws UsageError. */
export function makePlan(
  scenario: Scenario,
  contract: Contract,
  overrides: Overrides,
  inputs: PlanInputs = noInputs,
): Plan {
  const planOf = (each: Scenario) => planFor(each, contract, { ...overrides, only: [] }, inputs, null)
  const shrunk = withFewerKeys(scenario, overrides.keys ?? [], planOf)
  return planFor(shrunk?.scenario ?? scenario, contract, overrides, inputs, shrunk?.fewerKeys ?? null)
}

function planFor(
  scenario: Scenario,
  contract: Contract,
  overrides: Overrides,
  { recordings, publishedLimits }: PlanInputs,
  fewerKeys: Plan['fewerKeys'],
): Plan {
  const { limitOf, ...limits } = planLimits(scenario, contract, publishedLimits)
  const target = targetOf(overrides.target) ?? scenario.target
  checkSaturated(scenario, target)
  const callers = planCallers(scenario, contract, target, topUpOf(overrides.topUp ?? null))
  const whole = {
    schema: 1,
    scenario: scenario.name,
    question: scenario.question,
    seed: seedOf(overrides.seed) ?? scenario.seed ?? defaultSeed,
    target,
    service: scenario.service,
    profile: contract.name,
    notPromised: notPromised(contract),
    fewerKeys,
    notOffered: [...scenario.notOffered],
    callers,
    limits,
    values: [],
    calls: callers.wallets?.maxPaidUsd === '0' ? onlyAsking(scenario.calls) : scenario.calls,
    stages: planStages(scenario, contract, limitOf, recordings),
    slo: scenario.slo,
    thresholds: scenario.thresholds,
    mustJudge: scenario.mustJudge,
    ...budgetOf(overrides.budgetUsd, scenario.budgetUsd),
    bounds: planBounds(scenario.bounds),
    record: scenario.record,
  } as const
  const plan = narrowPlan(whole, overrides.only ?? [])
  checkPayments(plan)
  const values = plannedValues(plan.calls, contract)
  return { ...plan, values, forecast: forecast(plan, contract, limitOf) }
}

/** Callers with keys, and then those with wallets. */
function planCallers(
  { callers: { count, keys, accountTier, shared, separate, keysFile, ...given } }: Scenario,
  { wallets: { rails } }: Contract,
  target: string | null,
  topUp: string | null,
): Plan['callers'] {
  const { wallets, chains, walletKeysFile, topUpUsd } = given
  const inTurn = chains.length === 0 ? Object.keys(rails).slice(0, 1) : chains
  const maxPaidUsd = topUp ?? (target === null || isLoopback(target) ? null : '0')
  return {
    names: Array.from({ length: count }, (_, at) => (at < count - wallets ? `c${at}` : `w${at - count + wallets}`)),
    keysEach: keys,
    wallets:
      wallets === 0
        ? null
        : {
            chains: Array.from({ length: wallets }, (_, at) => inTurn[at % inTurn.length] ?? ''),
            keysFile: walletKeysFile,
            topUpUsd: maxPaidUsd === '0' ? null : topUpUsd,
            maxPaidUsd,
          },
    accountTier,
    shared,
    ...(separate && { separate }),
    keysFile,
  }
}

/** A run that must not pay only asks how to pay. */
const onlyAsking = (calls: Scenario['calls']): Plan['calls'] =>
  Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, withoutPayments(call)]))

/** The models and networks that the calls use, with their prices. */
function plannedValues(calls: Plan['calls'], contract: Contract): readonly PlannedValue[] {
  const used = Object.values(calls).map(traitsOf)
  const models = contract.models.filter(({ id }) => used.some(({ model }) => model === id))
  const networks = Object.entries(contract.rpc.networks).filter(([slug]) =>
    used.some(({ network }) => network === slug),
  )
  return [
    ...models.map(({ id, tier, usdPerMillion }) => ({
      name: `model ${id}`,
      text: `${tier === null ? 'no tier' : `tier ${tier}`}, ${modelPrice(usdPerMillion)}`,
      source: sourceOfValue(contract, 'models'),
    })),
    ...(contract.paths.rpc.includes('{network}') ? networks : []).map(([slug, { baseCredits, family }]) => ({
      name: `network ${slug}`,
      text: `${family}, ${baseCredits === null ? 'credits unknown' : `${baseCredits} base credits`}`,
      source: sourceOfValue(contract, 'rpc.networks'),
    })),
    ...(networks.length === 0 || !promisesAny(contract, ['rpc.credits.*', 'rpc.cost.*'])
      ? []
      : [
          {
            name: 'price of a credit',
            text: `$${contract.rpc.usdPerCredit}`,
            source: sourceOfValue(contract, 'rpc.usdPerCredit'),
          },
        ]),
  ]
}

const modelPrice = (price: Contract['models'][number]['usdPerMillion']): string =>
  price === null ? 'price unknown' : `$${price.input} and $${price.output} per million tokens`

function seedOf(seed: number | null): number | null {
  if (seed === null || (Number.isSafeInteger(seed) && seed >= 0)) return seed
  throw new UsageError({ where: '--seed', got: String(seed), expected: 'a whole number from 0' })
}

function targetOf(target: string | null): string | null {
  if (target === null) return null
  return checkTarget(target, problem => {
    throw new UsageError({ where: '--target', ...problem })
  })
}

/** The amount of --top-up, a decimal. */
function topUpOf(flag: string | null): string | null {
  if (flag === null) return null
  if (/^\d{1,5}(\.\d{1,6})?$/.test(flag)) return String(Number(flag))
  throw new UsageError({
    where: '--top-up',
    got: flag,
    expected: 'an amount of dollars of at most 99999.999999, such as 10',
  })
}

/** Throws a UsageError if --top-up is too small for the payments before the load, or exceeds the budget. */
function checkPayments({ callers: { wallets }, budgetUsd }: Pick<Plan, 'callers' | 'budgetUsd'>): void {
  if (wallets === null || wallets.maxPaidUsd === null || wallets.maxPaidUsd === '0') return
  const { chains, topUpUsd, maxPaidUsd } = wallets
  const where = '--top-up'
  const got = `$${maxPaidUsd}`
  const needed = pico(topUpUsd ?? '0') * BigInt(chains.length)
  if (pico(maxPaidUsd) < needed)
    throw new UsageError({
      where,
      got,
      expected: `at least $${formatPico(needed)}, since each wallet pays $${topUpUsd}`,
    })
  if (budgetUsd !== null && pico(maxPaidUsd) > pico(budgetUsd))
    throw new UsageError({ where, got, expected: `at most $${budgetUsd}, the budget` })
}

/** autocannon, which drives saturate stages, does not verify certificates, so a key could leak to an impostor. */
function checkSaturated({ stages }: Scenario, target: string | null): void {
  const stage = stages.find(({ shape }) => shape === 'saturate')
  if (stage === undefined || target === null || new URL(target).protocol === 'http:') return
  const expected = 'an http: target, since a saturate stage does not verify certificates'
  throw new UsageError({ where: `target of stage ${stage.name}`, got: target, expected })
}

/** Only the command line can lift the budget, because its user pays. */
function budgetOf(flag: string | null, ofScenario: string | null): Pick<Plan, 'budgetUsd' | 'isBudgetUnlimited'> {
  if (flag === null) return { budgetUsd: ofScenario, isBudgetUnlimited: false }
  const budgetUsd = parseBudget(flag, mistake => {
    throw new UsageError({ where: '--budget-usd', ...mistake })
  })
  return { budgetUsd, isBudgetUnlimited: budgetUsd === null }
}

/** The stages in sequence, with rates in arrivals per second of all callers. */
function planStages(
  scenario: Scenario,
  contract: Contract,
  limitOf: LimitOf,
  recordings: Recordings,
): readonly StagePlan[] {
  const { stages, calls } = scenario
  let startMs = 0
  return stages.map(stage => {
    const { name, firstCaller, beyondFailures } = stage
    const planned = { name, startMs, ...loadAndDuration(stage), callers: stage.callers, firstCaller, beyondFailures }
    startMs += planned.durationMs
    return planned
  })

  function loadAndDuration(stage: Stage): Pick<StagePlan, 'durationMs' | 'load'> {
    if (stage.shape !== 'recorded') {
      const perMinute = 'mix' in stage ? tierRatePerMinute(stage.mix, calls, limitOf) : null
      return { durationMs: stage.durationMs, load: loadOf(stage, perMinute, contract, calls) }
    }
    const recording = recordings.get(stage.name)
    if (recording === undefined) throw new TypeError(`no recording was read for stage ${stage.name}`)
    const load = recordedLoad(stage.name, stage, recording, scenario)
    return { durationMs: recording.durationMs / stage.speed, load }
  }
}

function loadOf(
  stage: Exclude<Stage, Recorded>,
  perMinuteOfCaller: number | null,
  contract: Contract,
  calls: Scenario['calls'],
): Load {
  const perSecond = (rate: Rate) => arrivalsPerSecond(rate, perMinuteOfCaller, stage.callers)
  switch (stage.shape) {
    case 'constant':
    case 'poisson':
      return openLoad({ kind: stage.shape, perSecond: perSecond(stage.rate) }, stage.mix)
    case 'ramp': {
      const { shape, from, to, mix } = stage
      return openLoad({ kind: shape, fromPerSecond: perSecond(from), toPerSecond: perSecond(to) }, mix)
    }
    case 'stairs': {
      const { shape, from, to, steps, rampMs, mix } = stage
      return openLoad({ kind: shape, fromPerSecond: perSecond(from), toPerSecond: perSecond(to), steps, rampMs }, mix)
    }
    case 'spike': {
      const { shape, base, peak, atMs, forMs, rampUpMs, rampDownMs, mix } = stage
      const rates = { basePerSecond: perSecond(base), peakPerSecond: perSecond(peak) }
      return openLoad({ kind: shape, ...rates, atMs, forMs, rampUpMs, rampDownMs }, mix)
    }
    case 'burst': {
      const { size: written, everyMs, durationMs, callers, mix } = stage
      const size =
        written.kind === 'absolute' ? written.arrivals : burstArrivals(written.share, perMinuteOfCaller ?? 0, callers)
      // Without a period there is one burst, since the next one would be due at the end of the stage.
      return openLoad({ kind: 'burst', size, everyMs: everyMs ?? durationMs }, mix)
    }
    case 'capacity': {
      const { goodRatio, precision, trialMs, confirmMs, spacing, coolDownMs, mix } = stage
      const search = {
        fromPerSecond: perSecond(stage.from),
        toPerSecond: perSecond(stage.to),
        goodRatio,
        precision,
        trialMs,
        confirmMs,
        confirmSamples: samplesToProve(goodRatio * 100),
        mix: mixShares(mix),
        callerPerSecond: perMinuteOfCaller === null ? null : perMinuteOfCaller / 60,
      }
      return { model: 'capacity', search, spacing, coolDownMs, mix }
    }
    case 'pause':
      return openLoad({ kind: 'pause' }, [])
    case 'closed': {
      const { users, thinkMs, mix } = stage
      const withinMs = meanOf(mix, name => waitOf(calls[name]))
      return { model: 'closed', users, thinkMs, ...(withinMs > 0 && { withinMs }), mix }
    }
    case 'saturate':
      return { model: 'saturate', connections: stage.connections, maxCalls: stage.maxCalls, mix: stage.mix }
    case 'sequence':
      return {
        model: 'sequence',
        calls: stage.calls,
        atMostMs: stage.atMostMs ?? sequenceAtMostMs(stage.calls, stage, { calls }, contract),
      }
  }
}

const waitOf = (call: Call | undefined): number => (call === undefined ? 0 : traitsOf(call).minWaitMs)

const openLoad = (shape: Shape, mix: Mix): Load => ({ model: 'open', shape, mix })

function mixShares(mix: Mix): Readonly<Record<string, number>> {
  const total = totalWeight(mix)
  return Object.fromEntries(mix.map(([call, weight]) => [call, weight / total]))
}

const defaults: Bounds = {
  maxInFlight: 512,
  maxBodyBytes: 4 * 1024 * 1024,
  drainMs: 30_000,
  timeouts: {
    // A long prompt delays the first token, and a long completion takes minutes.
    chat: { connectMs: 10_000, headersMs: 120_000, idleMs: 60_000, totalMs: 600_000 },
    // The service waits 30 s for its upstream node and then responds itself. 5 s more see that response.
    rpc: { connectMs: 10_000, headersMs: 35_000, idleMs: 35_000, totalMs: 35_000 },
    control: { connectMs: 10_000, headersMs: 30_000, idleMs: 30_000, totalMs: 30_000 },
  },
}

/** The bounds of the scenario, or the defaults. */
export function planBounds({ maxInFlight, maxBodyBytes, drainMs, timeouts }: BoundsSpec): Bounds {
  return {
    maxInFlight: maxInFlight ?? defaults.maxInFlight,
    maxBodyBytes: maxBodyBytes ?? defaults.maxBodyBytes,
    drainMs: drainMs ?? defaults.drainMs,
    timeouts: {
      chat: withDefaults(timeouts.chat, defaults.timeouts.chat),
      rpc: withDefaults(timeouts.rpc, defaults.timeouts.rpc),
      control: withDefaults(timeouts.control, defaults.timeouts.control),
    },
  }
}

function withDefaults({ connectMs, headersMs, idleMs, totalMs }: TimeoutsSpec, fallback: Timeouts): Timeouts {
  return {
    connectMs: connectMs ?? fallback.connectMs,
    headersMs: headersMs ?? fallback.headersMs,
    idleMs: idleMs ?? fallback.idleMs,
    totalMs: totalMs ?? fallback.totalMs,
  }
}
