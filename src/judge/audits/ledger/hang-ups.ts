import { choicesOf, maxLookups } from '../../../contract/chat-options.ts'
import type { Contract } from '../../../contract/contract.ts'
import { isReadSlowly, type Observation, streamOf } from '../../../observation/observation.ts'
import { type ChatDescriptor, isChat, maxPromptTokens } from '../../../observation/requests/chat.ts'
import { is2xx } from '../../../observation/response.ts'
import { listPrice, priceListOf } from '../../checks/price-list.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import { getOrAdd } from '../../merge.ts'
import { type ChargeBounds, describeSpent, excessOver, isWithin } from './charge.ts'
import { createUnansweredCharges } from './checkpoint.ts'
import type { Discrepancies } from './discrepancies.ts'
import { type AmountRange, countsOf, requestPrice } from './prices.ts'
import type { ChargedRequest, ChargeTotals } from './totals.ts'

/** A charge, and when it is certainly in the balance. */
type ChargeOfHangUp = { readonly charge: ChargeBounds; readonly settledMs: number }

export type HangUps = {
  /** Learns from a complete response. Of a completion that its client left, it returns the charge. */
  readonly chargeOf: (observation: Observation) => ChargeOfHangUp | null
}

/** What a client has not read any more may be on its way for this long. */
const onWayMs = 250
/** The counts of tokens of prompts of one length vary by this share; so does the time of a token. */
const variation = 0.1
const slowness = 2
/** Without any sign of how long a completion takes, its charge may come so late. */
const maxMs = 600_000

/** What complete responses of one model tell of others. */
type Seen = {
  /** The price of a prompt, by its length. */
  readonly prompts: Map<number, AmountRange>
  /** The shortest mean time of a token, and the most tokens of a chunk. */
  msPerToken: number | null
  tokensPerChunk: number
}

/**
 * What completions cost that their client left, by the policy of the profile. Such a response states neither its cost nor
 * its tokens. So the price of its prompt is that of complete responses to prompts of the same length, and its tokens are
 * those that the client has read, and at most those that may have come or been generated since.
 */
export function createHangUps(contract: Contract): HangUps {
  const priceList = priceListOf(contract)
  const { hangUp: policy, settleMs } = contract.billing
  const seen = new Map<string, Seen>()
  const seenOf = (model: string) =>
    getOrAdd(seen, model, (): Seen => ({ prompts: new Map(), msPerToken: null, tokensPerChunk: 1 }))
  const priceOf = (model: string, prompt: number, completion: number) =>
    listPrice(priceList, model, { prompt, completion, cached: 0, written: 0 })

  function learn(request: ChatDescriptor, observation: Observation) {
    const counts = countsOf(observation)
    if (counts === null) return
    const known = seenOf(request.model)
    const { prompt, cached, written, completion } = counts
    const price = listPrice(priceList, request.model, { prompt, completion: 0, cached, written })
    if (price !== null) {
      const { min, max } = known.prompts.get(request.promptTokens) ?? { min: price, max: price }
      known.prompts.set(request.promptTokens, { min: price < min ? price : min, max: price > max ? price : max })
    }
    const stream = streamOf(observation)
    if (stream === null || stream.tokenChunks === 0) return
    known.tokensPerChunk = Math.max(known.tokensPerChunk, completion / stream.tokenChunks)
    const ms = msPerTokenOf(observation)
    if (ms !== null) known.msPerToken = Math.min(known.msPerToken ?? ms, ms)
  }

  function promptOf(request: ChatDescriptor): AmountRange | null {
    const most = priceOf(request.model, maxPromptTokens(request), 0)
    const known = seenOf(request.model).prompts.get(request.promptTokens)
    // A cache may serve prompts that are sent again, and their text may be another one.
    if (known === undefined || request.options !== null) return most === null ? null : { min: 0n, max: most }
    return { min: scaled(known.min, 1 - variation), max: scaled(known.max, 1 + variation) }
  }

  function boundsOf(observation: Observation, request: ChatDescriptor): ChargeOfHangUp | null {
    const endMs = observation.endMs ?? observation.dueMs
    const prompt = promptOf(request)
    const known = seenOf(request.model)
    const stream = streamOf(observation)
    const read = stream?.tokenChunks ?? 0
    const all = request.maxCompletionTokens * choicesOf(request.options)
    const msPerToken = msPerTokenOf(observation) ?? known.msPerToken
    /** The most tokens that can have been generated, if the last ones come `afterMs` after the client left. */
    const mostAfter = (afterMs: number): number => {
      // A client that stops reading before it leaves does not see what comes.
      const unreadMs = endMs - (stream?.lastTokenMs ?? observation.headersMs ?? endMs)
      const ms = afterMs + unreadMs + (observation.stalls?.longestMs ?? 0)
      const more = msPerToken === null ? all : Math.ceil((ms * slowness) / Math.max(msPerToken, 0.01)) + 1
      return Math.min(all, Math.ceil(read * known.tokensPerChunk) + more)
    }
    const priced = (from: number, to: number): AmountRange | null => {
      const [least, most] = [priceOf(request.model, 0, from), priceOf(request.model, 0, to)]
      if (prompt === null || least === null || most === null) return null
      // Until the first token, it is open whether the prompt counts.
      return { min: from === 0 ? 0n : prompt.min + least, max: prompt.max + most }
    }
    const most = requestPrice(request).max(request, contract) ?? 0n
    const inBounds = (range: AmountRange | null, settledMs: number, said = 0n): ChargeOfHangUp | null =>
      range && { charge: { kind: 'left', ...range, said, most }, settledMs }
    /** The best guess: the usual prompt, and what the client has read. */
    const ofRead = () => {
      const usual = known.prompts.get(request.promptTokens)
      return usual === undefined || read === 0 ? 0n : usual.max + (priceOf(request.model, 0, read) ?? 0n)
    }
    const soonMs = endMs + settleMs
    switch (policy) {
      case 'open':
        return null
      case 'nothing':
        return inBounds({ min: 0n, max: 0n }, soonMs)
      case 'delivered':
        return inBounds(priced(read, mostAfter(onWayMs)), soonMs, ofRead())
      case 'generated':
        return inBounds(priced(read, mostAfter(settleMs)), soonMs, ofRead())
      case 'full': {
        const restMs = msPerToken === null ? maxMs : Math.min(maxMs, all * msPerToken * slowness)
        return inBounds(priced(Math.max(1, read), all), soonMs + restMs)
      }
    }
  }

  return {
    chargeOf: observation => {
      const { request, outcome, response } = observation
      if (!isChat(request)) return null
      if (outcome.kind === 'answered' && is2xx(outcome.status)) learn(request, observation)
      if (outcome.kind !== 'left' || maxLookups(request.options, contract) > 0) return null
      return response !== null && !is2xx(response.status) ? null : boundsOf(observation, request)
    },
  }
}

/** The mean time of a token, from one chunk to the next; null: too few have come, or the client took the time. */
function msPerTokenOf(observation: Observation): number | null {
  const stream = streamOf(observation)
  if (stream === null || stream.firstTokenMs === null || stream.lastTokenMs === null || stream.tokenChunks < 4)
    return null
  if (isReadSlowly(observation)) return null
  const ms = (stream.lastTokenMs - stream.firstTokenMs) / (stream.tokenChunks - 1)
  return ms > 0 ? ms : null
}

const scaled = (amount: bigint, factor: number): bigint => (amount * BigInt(Math.round(factor * 1_000))) / 1_000n

/** A certain balance, and what is known of the requests since the last one. */
type SettledDifference = {
  readonly spent: bigint
  readonly range: AmountRange
  readonly resolution: bigint
  readonly totals: ChargeTotals
  /** The latest charges that responses state. */
  readonly charges: readonly bigint[]
  readonly atMs: number
  readonly requestIds: () => readonly number[]
}

type Difference = { readonly amount: bigint; readonly message: string; readonly requestIds: readonly number[] }
type HangUpClause = 'billing.hang-up.amount' | 'billing.hang-up.once' | 'billing.hang-up.late'

/** Judges the charges for completions that the client of an account left. */
export function createHangUpJudge(discrepancies: Discrepancies, reporter: ClauseReporter<'ledger'>) {
  /** What earlier hang-ups may still take, at a service that generates on. */
  const later = createUnansweredCharges()

  /** `clause`: if it is not the amount that is wrong. */
  const report = (difference: Difference, clause: HangUpClause = 'billing.hang-up.amount') =>
    discrepancies.report(difference.amount > 0n ? 'hang-up-billed' : 'hang-up-unbilled', { ...difference, clause })

  return {
    report,
    add: ({ charge, settledMs }: ChargedRequest & { readonly settledMs: number }) => {
      if (charge?.kind === 'left') later.add(charge.most ?? 0n, settledMs)
    },
    /** Whether hang-ups, and nothing else, explain a difference, which is then reported. */
    explains: ({ spent, range, resolution, totals, charges, atMs, requestIds }: SettledDifference): boolean => {
      if (isWithin(spent, range, resolution)) return false
      const { left, leftMin, leftMax, leftMost, leftSaid } = totals
      const amount = excessOver(spent, range)
      const message = describeSpent(spent, range, totals.requests)
      if (left > 0) {
        const most = { min: range.min - leftMin, max: range.max - leftMax + leftMost }
        if (!isWithin(spent, most, resolution)) return false
        const ofLeft = spent - (range.min - leftMin)
        const isTwice = amount > 0n && leftSaid > 0n && isNear(ofLeft, 2n * leftSaid, leftSaid / 20n + resolution)
        const words = `${message}, ${left} of them left by the client`
        report(
          { amount, message: words, requestIds: requestIds() },
          isTwice ? 'billing.hang-up.once' : 'billing.hang-up.amount',
        )
        return true
      }
      // A charge that a response states may have been taken twice, which is another fault.
      const isOther =
        amount <= 0n || amount > later.at(atMs) || charges.some(charge => isNear(charge, amount, resolution))
      if (isOther) return false
      const words = `${message}; the client had left earlier ones`
      report({ amount, message: words, requestIds: requestIds() }, 'billing.hang-up.late')
      return true
    },
    /** All charges since the last certain balance are explained; `left` of them are for hang-ups. */
    pass: (left: number, atMs: number) => {
      if (left > 0) {
        reporter.pass('billing.hang-up.amount')
        reporter.pass('billing.hang-up.once')
      } else if (later.at(atMs) > 0n) reporter.pass('billing.hang-up.late')
    },
  }
}

const isNear = (a: bigint, b: bigint, resolution: bigint): boolean => a - b <= resolution && b - a <= resolution
