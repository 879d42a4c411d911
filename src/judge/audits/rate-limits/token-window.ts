import { hasFixedWindows, maxResetMs } from '../../../contract/contract.ts'
import { limitHeadersOf, statesWait } from '../../../contract/limit-headers/limit-headers.ts'
import { countsTokens } from '../../../contract/limiters.ts'
import { toObject } from '../../../lib/json.ts'
import { type ApplicableLimit, statedTokens } from '../../../observation/limit-scope.ts'
import { type Observation, streamOf } from '../../../observation/observation.ts'
import { requestTraits } from '../../../observation/requests/request.ts'
import { is2xx, isReplayed, jsonObject } from '../../../observation/response.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { Obstacle } from '../../findings/obstacles.ts'
import { getOrAdd } from '../../merge.ts'
import type { AuditContext } from '../audit.ts'
import {
  createOverlapBounds,
  createSortedQueue,
  type OverlapBounds,
  type RequestInterval,
  type SumBounds,
} from '../overlap-bounds.ts'
import { unknownAlgorithm } from './hidden.ts'
import { createLeakyLevel } from './limit-use.ts'
import type { ClockOffset } from './resets.ts'

/** A successful completion, its certain token use, and the token window in its response. */
type TokenUse = RequestInterval & {
  readonly id: number
  readonly tokens: number
  readonly remaining: number
  readonly limit: number
  /** The window ends between these times, on the clock of the observations. */
  readonly endsFromMs: number
  readonly endsToMs: number
}

/** Allows for stamps in whole seconds, rounded up or down. */
const clockResolutionMs = 1_000
/** The number of past steps that are stored for each window. */
const steps = 256

type TokenWindow = {
  readonly add: (observation: Observation, scope: ApplicableLimit, watermarkMs: number) => void
  readonly finish: () => void
}

/**
 * Judges the token limit by the tokens of completed requests, however else a service counts: they cannot remain in the
 * window, and above the limit no request is accepted. Only the end of the window is known, in whole seconds; each
 * response of the window narrows it. The window is assumed to be as short as possible. Unless the contract names an
 * algorithm of fixed windows, tokens may also come back all the time, at the rate of the limit.
 */
export function createTokenWindow(
  context: AuditContext,
  offset: () => ClockOffset,
  reporter: ClauseReporter<'rate-limits'>,
): TokenWindow {
  const { contract, startedAtMs } = context
  const { windowMs, scope } = contract.limits
  const { tokens: statements } = limitHeadersOf(contract.limits)
  const isAhead = statesWait(statements)
  /** Without its end, a window of tokens cannot be told. */
  const areStated = statements.remaining !== null && statements.reset !== null
  const windows: OverlapBounds<TokenUse>[] = []
  const windowsOf = new Map<string, Map<string, OverlapBounds<TokenUse>>>()

  return {
    add: (observation, { finest: name, tokensPerMinute }, watermarkMs) => {
      const { sentMs, headersMs, endMs, response, caller, key, id, request } = observation
      if (!countsTokens(requestTraits(request).limiter) || response === null || !is2xx(response.status)) return
      if (sentMs === null || endMs === null || !areStated) return
      // A replay uses no tokens for certain, and may state what its original did.
      if (requestTraits(request).isRepetition(request) || isReplayed(observation, contract)) return
      const shownMs = headersMs ?? endMs
      const stated = statedTokens(response.headers, contract)
      const ofCaller = getOrAdd(windowsOf, caller, () => new Map<string, OverlapBounds<TokenUse>>())
      // If each key may have limits of its own, only the use of this key is certain.
      const counted = scope === 'account' ? name : `${name} ${key}`
      const uses = getOrAdd(ofCaller, counted, () => {
        const created = createUses(name)
        windows.push(created)
        return created
      })
      const use = {
        id,
        sentMs,
        shownMs,
        // Tokens are counted when they are charged.
        settledMs: endMs + contract.billing.settleMs,
        tokens: tokensOf(observation),
        remaining: stated.remaining ?? Number.NaN,
        // Another clause judges a limit that differs from the contract.
        limit: Math.max(tokensPerMinute ?? 0, Number.isFinite(stated.limit) ? (stated.limit ?? 0) : 0),
        ...endOf(sentMs, shownMs, stated.reset ?? Number.NaN),
      }
      uses.add(use, watermarkMs)
    },
    finish: () => {
      for (const uses of windows) uses.finish()
    },
  }

  function endOf(sentMs: number, shownMs: number, reset: number): Pick<TokenUse, 'endsFromMs' | 'endsToMs'> {
    const { min, max } = offset()
    return {
      endsFromMs: isAhead ? sentMs + reset - clockResolutionMs : reset - startedAtMs - max - clockResolutionMs,
      endsToMs: isAhead ? shownMs + reset + clockResolutionMs : reset - startedAtMs - min + clockResolutionMs,
    }
  }

  function createUses(name: string): OverlapBounds<TokenUse> {
    /** Tokens of all requests sent before a time, for a few times in the last windows. */
    let past: readonly { readonly atMs: number; readonly tokens: number }[] = []
    let endsToMs = Number.NEGATIVE_INFINITY
    let maxLimit = 0
    const level = createLeakyLevel(() => maxLimit / windowMs)
    const ends = createLastingEnd(windowMs)
    const unsettled = createSortedQueue<TokenUse>(({ settledMs }) => settledMs)

    /** The tokens that a bucket lacks at least, which refills at the rate of the limit. */
    function lacking({ sentMs, shownMs }: TokenUse): number {
      if (hasFixedWindows(contract)) return Number.POSITIVE_INFINITY
      for (let first = unsettled.at(0); first !== undefined && first.settledMs <= sentMs; first = unsettled.at(0)) {
        unsettled.shift()
        // Tokens may count from the admission of the request on.
        level.add(first.sentMs, first.tokens)
      }
      return Math.floor(level.at(shownMs))
    }

    function judge(use: TokenUse, { certain, before, possible }: SumBounds<number>) {
      const { id, sentMs, remaining, limit } = use
      maxLimit = Math.max(maxLimit, limit)
      const lacked = lacking(use)
      unsettled.insert(use)
      if (sentMs >= (past.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) + windowMs / steps)
        past = [...past.filter(({ atMs }) => atMs > sentMs - 2 * windowMs), { atMs: sentMs, tokens: before }]
      if (remaining > limit && limit > 0) {
        const message = `${remaining} of ${limit} tokens of ${name} are stated as remaining, expected at most ${limit}`
        return reporter.fail('limit.tokens.remaining', message, [id])
      }
      if (!Number.isFinite(remaining) || !Number.isFinite(use.endsToMs)) return noteHidden(noHeaders)
      // A reset further away than a window does not show when the window began.
      const aheadMs = use.endsFromMs - use.shownMs - clockResolutionMs
      if (aheadMs > maxResetMs(contract, remaining)) return noteHidden(unusableReset)
      if (aheadMs > windowMs) return noteHidden(unknownAlgorithm)
      endsToMs = use.endsFromMs > endsToMs ? use.endsToMs : Math.min(endsToMs, use.endsToMs)
      // Requests sent before the window may have counted in the previous one.
      const earlier = past.find(({ atMs }) => atMs >= endsToMs - windowMs)?.tokens ?? before
      const used = Math.min(certain - earlier, ends.add(use, certain, possible) ? Number.POSITIVE_INFINITY : lacked)
      if (used <= 0) {
        if (certain > earlier) reporter.unjudged('limit.tokens.remaining', unknownAlgorithm)
        return
      }
      if (used > limit && limit > 0) {
        const message = `a request of ${name} was accepted after ${used} of ${limit} tokens were used, expected a 429`
        reporter.fail('limit.tokens.enforced', message, [id])
      }
      // The remaining tokens are never stated as less than 0.
      const max = Math.max(0, limit - used)
      if (remaining <= max) return reporter.pass('limit.tokens.remaining')
      const message = `${remaining} of ${limit} tokens of ${name} are stated as remaining after ${used} were used, expected at most ${max}`
      reporter.fail('limit.tokens.remaining', message, [id])
    }

    function noteHidden(obstacle: Obstacle) {
      reporter.unjudged('limit.tokens.remaining', obstacle)
    }

    return createOverlapBounds<TokenUse, number>(0, (sum, { tokens }) => sum + tokens, judge)
  }
}

/** Between two responses that show whether an end lasts. Each end is known to a second or two. */
const lastingMs = 6_000

/**
 * Whether the stated end is that of a window. A bucket that uses tokens is full later, and one that refills has more: so an end
 * that stays, with tokens used and no more remaining, is not the time at which a bucket is full.
 */
function createLastingEnd(windowMs: number) {
  let first: { use: TokenUse; fromMs: number; toMs: number; sum: number } | null = null
  let isWindow = false
  return {
    /** `certain`, `possible`: the tokens of the requests that this one found, at least and at most. */
    add: (use: TokenUse, certain: number, possible: number): boolean => {
      if (first === null || use.endsFromMs > first.toMs || use.endsToMs < first.fromMs) {
        first = { use, fromMs: use.endsFromMs, toMs: use.endsToMs, sum: possible }
        isWindow = false
        return false
      }
      first.fromMs = Math.max(first.fromMs, use.endsFromMs)
      first.toMs = Math.min(first.toMs, use.endsToMs)
      const passedMs = use.sentMs - first.use.shownMs
      const mayMoveMs = use.endsToMs - use.endsFromMs + first.use.endsToMs - first.use.endsFromMs
      const refilled = (use.limit * (passedMs - mayMoveMs)) / windowMs
      if (passedMs >= lastingMs && certain > first.sum && use.remaining < first.use.remaining + refilled)
        isWindow = true
      return isWindow
    },
  }
}

const noHeaders: Obstacle = { text: 'responses have no usable token headers', clause: 'limit.tokens.headers' }
const unusableReset: Obstacle = { text: 'token resets are unusable', clause: 'limit.tokens.reset' }

function tokensOf(observation: Observation): number {
  const total = toObject(streamOf(observation)?.usage ?? jsonObject(observation.response)?.usage)?.total_tokens
  return Number.isSafeInteger(total) && Number(total) > 0 ? Number(total) : 0
}
