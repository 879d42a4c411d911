import type { Clock } from '../lib/clock.ts'
import { pico } from '../lib/money.ts'
import { costPicoUsd, type Standing } from './metronome-answer.ts'
import { metronomeContract } from './metronome-contract.ts'

const openingPicoUsd = pico('1000000')
const { requestsPerMinute, tokensPerMinute } = metronomeContract.accounts.default.XS
const { windowMs } = metronomeContract.limits

/** One account for everybody, with limits that nobody reaches. */
export function openAccount(clock: Clock): { readonly draw: (tokens: number) => Standing } {
  let picoUsd = openingPicoUsd
  let serial = 0
  let resetMs = 0
  let requests = 0
  let statements = 0
  let spentTokens = 0
  return {
    draw: tokens => {
      const nowMs = clock.wallMs()
      if (nowMs >= resetMs) {
        resetMs = Math.ceil((nowMs + windowMs) / 1000) * 1000
        requests = 0
        statements = 0
        spentTokens = 0
      }
      const used = tokens > 0 ? ++requests : ++statements
      // A balance is the one before the request, a remainder the one behind it.
      const standing: Standing = {
        nowMs,
        picoUsd,
        requestsLeft: requestsPerMinute - used,
        tokensLeft: tokensPerMinute - spentTokens,
        resetMs,
        serial: ++serial,
      }
      spentTokens += tokens
      if (tokens > 0) picoUsd -= costPicoUsd(tokens)
      return standing
    },
  }
}
