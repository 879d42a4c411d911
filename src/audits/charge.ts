import { claimedPico } from '../checks/completion.ts'
import { expectedCredits } from '../checks/rpc-credits.ts'
import type { Contract } from '../contract/contract.ts'
import { type ProbeName, probes } from '../contract/probes.ts'
import { distance, parsePico, pico } from '../lib/money.ts'
import { type Observation, streamOf } from '../observation/observation.ts'
import { asObject, isReplayed, jsonObject } from '../observation/scope.ts'

/** What one request took from a balance, as far as can be told. All amounts in pico-USD; a DIEM counts as a USD. */
export type Charge = {
  readonly sort: 'charged' | 'replay' | 'free' | 'unknown'
  /** The least and the most that it may have taken. They are equal unless the request has no complete answer. */
  readonly least: bigint
  readonly most: bigint
  /** What the answer says, or what it would have said: of a replay, the charge that must not be taken again. */
  readonly said: bigint
}

/** Null where it cannot be told: a success that does not say what it cost. */
export function chargeOf(observation: Observation, contract: Contract): Charge | null {
  const { asked, answer, outcome } = observation
  if (asked.kind !== 'chat' && asked.kind !== 'rpc' && asked.kind !== 'probe') return exactly('free', 0n)
  // A probe that draws on no limit does not say who is asking, so nobody can be charged for it.
  if (asked.kind === 'probe' && probes[asked.probe as ProbeName].draws === null) return exactly('free', 0n)
  if (outcome.kind === 'dropped') return exactly('free', 0n)
  if (outcome.kind === 'failed')
    return outcome.reason === 'connect-refused' ? exactly('free', 0n) : upTo(worstCase(observation, contract))
  if (outcome.status !== 200) return exactly('free', 0n)
  const said = asked.kind === 'chat' ? chatCost(observation) : (rpcCost(observation, contract) ?? chatCost(observation))
  if (asked.kind === 'rpc' && isReplayed(answer)) return { sort: 'replay', least: 0n, most: 0n, said: said ?? 0n }
  return said === null ? null : { ...exactly('charged', said), ...rounded(observation, said, contract) }
}

/**
 * An RPC cost is shown rounded; whether the balance takes the shown amount or the exact one is open, so both are
 * possible where they differ by no more than that rounding.
 */
function rounded({ asked, answer }: Observation, said: bigint, contract: Contract): Partial<Charge> {
  const credits = answer?.headers[`${contract.headerPrefix}rpc-credits`] ?? ''
  if (asked.kind !== 'rpc' || !/^\d+$/.test(credits)) return {}
  const exact = BigInt(credits) * pico(contract.rpc.usdPerCredit)
  if (distance(exact, said) > 10n ** BigInt(12 - contract.rpc.costDecimals)) return {}
  return exact < said ? { least: exact, most: said } : { least: said, most: exact }
}

const exactly = (sort: Charge['sort'], said: bigint): Charge => ({ sort, least: said, most: said, said })
const upTo = (most: bigint): Charge => ({ sort: 'unknown', least: 0n, most, said: 0n })

function chatCost(observation: Observation): bigint | null {
  const cost = asObject(streamOf(observation)?.cost ?? jsonObject(observation.answer)?.cost)
  if (typeof cost?.usd !== 'number' || typeof cost.diem !== 'number') return null
  const sum = claimedPico(cost.usd) + claimedPico(cost.diem)
  return sum < 0n ? null : sum
}

function rpcCost({ answer }: Observation, contract: Contract): bigint | null {
  return parsePico(answer?.headers[`${contract.headerPrefix}rpc-cost-usd`] ?? '')
}

/** Twice the list price of the longest completion, or of every item in the dearest tier: a bound, not a forecast. */
function worstCase({ asked }: Observation, contract: Contract): bigint {
  if (asked.kind === 'rpc') {
    const base = contract.rpc.networks[asked.network]?.baseCredits ?? 0
    return BigInt(asked.items.length * base * contract.rpc.multipliers.large * 2) * pico(contract.rpc.usdPerCredit)
  }
  if (asked.kind !== 'chat') return 0n
  const price = contract.models.find(model => model.id === asked.model)?.usdPerMillion
  if (!price) return pico('1')
  const prompt = BigInt(asked.promptTokens * 2 + 4_000) * pico(price.input)
  return (prompt + 2n * BigInt(asked.maxCompletionTokens) * pico(price.output)) / 1_000_000n
}

/** What the request costs by our own tariff; null where the tariff does not tell. */
export function expectedPico(
  observation: Observation,
  contract: Contract,
): { readonly usd: bigint; readonly credits: bigint } | null {
  const { asked, answer, outcome } = observation
  if (outcome.kind !== 'answered' || outcome.status !== 200) return null
  if (asked.kind === 'rpc') {
    if (isReplayed(answer)) return null
    const credits = expectedCredits(observation, asked, contract)?.total ?? null
    return credits === null ? null : { usd: credits * pico(contract.rpc.usdPerCredit), credits }
  }
  if (asked.kind !== 'chat') return null
  const usage = asObject(streamOf(observation)?.usage ?? jsonObject(answer)?.usage)
  const price = contract.models.find(model => model.id === asked.model)?.usdPerMillion
  const [prompt, completion] = [usage?.prompt_tokens, usage?.completion_tokens]
  if (!price || !Number.isSafeInteger(prompt) || !Number.isSafeInteger(completion)) return null
  return {
    usd: (BigInt(Number(prompt)) * pico(price.input) + BigInt(Number(completion)) * pico(price.output)) / 1_000_000n,
    credits: 0n,
  }
}
