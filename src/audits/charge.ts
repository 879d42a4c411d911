import { claimedPicoUsd, tokenCounts } from '../checks/completion.ts'
import { listPrice, priceListOf } from '../checks/price-list.ts'
import { claimedCredits, expectedCredits } from '../checks/rpc-credits.ts'
import { choicesOf, mostLookups } from '../contract/chat-options.ts'
import { type Contract, resourceOf } from '../contract/contract.ts'
import { probeOf } from '../contract/probes.ts'
import { distance, parsePico, pico } from '../lib/money.ts'
import { rememberLast } from '../lib/remember-last.ts'
import { type Answer, neverSent, type Observation, type ProbeAsked, streamOf } from '../observation/observation.ts'
import { isFromGateway, isReplayed, jsonObject } from '../observation/response.ts'
import { asObject } from '../observation/scope.ts'

/** What one request took from a balance, as far as can be told. All amounts in pico-USD; a DIEM counts as a USD. */
export type Charge = {
  /**
   * refused: by the RPC proxy, and so for free · unknown: no complete answer came, and nobody can say whether it was
   * charged
   */
  readonly sort: 'charged' | 'replay' | 'refused' | 'free' | 'unknown'
  /** The least and the most that it took. */
  readonly least: bigint
  readonly most: bigint
  /** What the answer says, or what it would have said: of a replay, the charge that must not be taken again. */
  readonly said: bigint
}

const free: Charge = { sort: 'free', least: 0n, most: 0n, said: 0n }
const refused: Charge = { ...free, sort: 'refused' }

/** Null where it cannot be told: a success that does not say what it cost. */
export const chargeOf = rememberLast(readCharge)

function readCharge(observation: Observation, contract: Contract): Charge | null {
  const { asked, answer, outcome } = observation
  if (asked.kind === 'models' || asked.kind === 'networks') return free
  if (asked.kind === 'rate-limits' || asked.kind === 'rate-limit-logs') return free
  // A probe that draws on no limit does not say who is asking, so nobody can be charged for it.
  if (asked.kind === 'probe' && probeOf(asked.probe).draws === null) return free
  if (outcome.kind === 'dropped') return free
  if (outcome.kind === 'failed') return neverSent.includes(outcome.reason) ? free : upToWorst(observation, contract)
  // Behind a gateway that gave up, the service may have done its work.
  if (answer !== null && isFromGateway(answer, contract)) return upToWorst(observation, contract)

  const claim = claimOf(observation, contract)
  if (asked.kind !== 'chat' && isReplayed(answer))
    return { sort: 'replay', least: 0n, most: 0n, said: claim?.said ?? 0n }
  const isRefused = isRefusal(observation)
  if (claim !== null && !(isRefused && claim.said === 0n)) return { sort: 'charged', ...claim }
  // Nothing says what a resource cost, but its contract says at most how much.
  if (asked.kind === 'resource') return outcome.status === 200 ? upToWorst(observation, contract) : free
  if (outcome.status === 200) return null
  return isRefused ? refused : free
}

/** Whether the RPC proxy refused a request as a whole. */
export const isRefusal = ({ asked, outcome }: Observation): boolean =>
  outcome.kind === 'answered' &&
  outcome.status >= 400 &&
  outcome.status < 500 &&
  (asked.kind === 'rpc' || (asked.kind === 'probe' && probeOf(asked.probe).draws === 'rpc'))

type Claim = Pick<Charge, 'least' | 'most' | 'said'>

/** What the answer says that it cost, whatever its status; null where it does not say. */
function claimOf({ asked, answer }: Observation, contract: Contract): Claim | null {
  if (answer === null) return null
  const inBody = asked.kind === 'rpc' ? null : claimInBody(answer)
  // A probe must be refused; one that was not may have run as either kind.
  return inBody ?? (asked.kind === 'chat' ? null : claimInHeader(answer, contract))
}

function claimInBody(answer: Answer): Claim | null {
  const cost = statedCost(answer)
  return cost && around(cost.usd + cost.diem, cost.isExact ? 0n : 1n)
}

/** The cost that a completion states, in each of the two currencies. */
export function statedCost({ body }: Answer) {
  const stated = body.kind === 'stream' ? body.stream.cost : body.kind === 'json' ? asObject(body.value)?.cost : null
  const { usd, diem } = asObject(stated) ?? {}
  if (typeof usd !== 'number' || typeof diem !== 'number' || usd < 0 || diem < 0) return null
  // The last digits of a double may be noise.
  const isExact = parsePico(usd) !== null && parsePico(diem) !== null
  return { usd: claimedPicoUsd(usd), diem: claimedPicoUsd(diem), isExact }
}

/**
 * An RPC cost is shown rounded; whether the balance takes the shown amount or the exact one is open, so both are
 * possible. Where our tariff does not give the shown amount, of the exact one is known only that it rounds to it.
 */
function claimInHeader(answer: Answer, contract: Contract): Claim | null {
  const { costHeader, costGrain, picoUsdPerCredit } = priceListOf(contract)
  const said = parsePico(answer.headers[costHeader] ?? '')
  const credits = claimedCredits(answer, contract)
  if (said === null || credits === null) return said === null ? null : around(said, 0n)
  const exact = credits * picoUsdPerCredit
  if (distance(exact, said) > costGrain) return around(said, costGrain)
  return exact < said ? { least: exact, most: said, said } : { least: said, most: exact, said }
}

const around = (said: bigint, grain: bigint): Claim => ({
  least: said > grain ? said - grain : 0n,
  most: said + grain,
  said,
})

function upToWorst(observation: Observation, contract: Contract): Charge {
  const most = worstCase(observation, contract)
  return most === 0n && observation.asked.kind === 'resource' ? free : { sort: 'unknown', least: 0n, most, said: 0n }
}

const unpriced = pico('1')

/** Twice the list price of the longest completion, or of every item in the dearest tier: a bound, not a forecast. */
function worstCase({ asked }: Observation, contract: Contract): bigint {
  if (asked.kind === 'rpc') {
    const base = contract.rpc.networks[asked.network]?.baseCredits
    if (base === undefined) return unpriced
    return (
      BigInt(asked.items.length * base * contract.rpc.multipliers.large * 2) * priceListOf(contract).picoUsdPerCredit
    )
  }
  // What is refused is not charged, so that most probes cost nothing.
  if (asked.kind === 'probe')
    return BigInt(2 * (probeOf(asked.probe).credits?.(contract) ?? 0)) * priceListOf(contract).picoUsdPerCredit
  if (asked.kind === 'resource') {
    const worst = resourceOf(contract, asked.resource)?.worstUsd ?? null
    return worst === null ? unpriced : pico(worst)
  }
  if (asked.kind !== 'chat') return 0n
  const lookups = mostLookups(asked.options, contract)
  const { usdPerLookup } = contract.chat.search
  if (lookups > 0 && usdPerLookup === null) return unpriced
  const prompt = asked.promptTokens * 2 + 4_000
  const completion = asked.maxCompletionTokens * choicesOf(asked.options) * 2
  const tokens = listPrice(priceListOf(contract), asked.model, { prompt, completion, cached: 0, written: 0 })
  return tokens === null ? unpriced : tokens + BigInt(lookups * 2) * pico(usdPerLookup ?? '0')
}

/** What the request costs by our own tariff; null where the tariff does not tell. */
export function expectedCharge(
  observation: Observation,
  contract: Contract,
): { readonly usd: bigint; readonly credits: bigint } | null {
  const { asked, answer, outcome } = observation
  if (outcome.kind !== 'answered' || answer?.status !== 200) return null
  if (asked.kind === 'rpc') {
    if (isReplayed(answer)) return null
    const bill = expectedCredits(observation, contract)
    if (bill === null) return null
    const claimed = claimedCredits(answer, contract)
    // Of the prices that the contract leaves open, the one that was taken is as right as any.
    const credits = bill.accepted.find(total => total === claimed) ?? bill.total
    return { usd: credits * priceListOf(contract).picoUsdPerCredit, credits }
  }
  if (asked.kind === 'probe') return expectedOfProbe(asked, answer, contract)
  if (asked.kind !== 'chat' || mostLookups(asked.options, contract) > 0) return null
  const counts = tokenCounts(streamOf(observation)?.usage ?? jsonObject(answer)?.usage)
  if (counts === null || counts.wrong !== null) return null
  const usd = listPrice(priceListOf(contract), asked.model, counts)
  return usd === null ? null : { usd, credits: 0n }
}

/** A probe that may be answered is one call; which tier it is in, only its answer says. */
function expectedOfProbe({ probe }: ProbeAsked, answer: Answer, contract: Contract) {
  if (isReplayed(answer) || probeOf(probe).credits === undefined) return null
  const credits = claimedCredits(answer, contract)
  return credits === null ? null : { usd: credits * priceListOf(contract).picoUsdPerCredit, credits }
}
