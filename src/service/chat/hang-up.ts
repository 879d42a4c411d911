import type { Contract, Model } from '../../contract/contract.ts'
import { type Account, currencyFor, type DeferredCharge, type Slot } from '../account.ts'
import type { OnLeave } from '../message.ts'
import { type GeneratedChoice, listPricePico, type Usage } from './completion.ts'

/** How the service treats a client that leaves a completion before its end. A lie replaces some of it. */
export type HangUpRules = {
  /** What counts as generated of a completion that a client left: the tokens that were due by then. */
  readonly tokensOnLeave: (due: {
    readonly delivered: number
    readonly generated: number
    readonly all: number
  }) => number
  /** The charge, and how often it is applied. */
  readonly chargesOnLeave: number
  /** The delays, in milliseconds, after which further charges follow, each for the tokens of that time. */
  readonly generatesOnMs: readonly number[]
  /** When the slot of the completion is free again, if the client leaves now. */
  readonly slotEndMs: (nowMs: number) => number
}

/** All decisions of the service about such a charge. */
type ChargeRules = HangUpRules & {
  readonly chatCostPico: (usage: Usage, price: NonNullable<Model['usdPerMillion']>) => bigint
  readonly usedTokens: (usage: Usage) => number
}

/** What the client did not get any more is generated until the service notices that it has left. */
const noticeMs = 50

export function defaultHangUpRules({ billing: { hangUp } }: Pick<Contract, 'billing'>): HangUpRules {
  return {
    tokensOnLeave: ({ delivered, generated, all }) =>
      hangUp === 'full' ? all : hangUp === 'generated' ? generated : delivered,
    chargesOnLeave: hangUp === 'nothing' ? 0 : 1,
    generatesOnMs: [],
    slotEndMs: nowMs => nowMs,
  }
}

/** A completion in progress, with its charge that falls due at its end. */
type Completion = {
  readonly account: Account
  readonly model: Model
  readonly usage: Usage
  readonly generated: readonly GeneratedChoice[]
  readonly arrivedMs: number
  readonly isStream: boolean
  readonly due: DeferredCharge
  readonly slot: Slot
  /** What every completion costs beside its tokens. */
  readonly perRequestPico: bigint
}

/** Replaces the charge at the end of a completion by that of what the client leaves. */
export const hangUpOn =
  (completion: Completion, behavior: ChargeRules): OnLeave =>
  afterMs => {
    const { account, model, usage, generated, arrivedMs, isStream, due, slot, perRequestPico } = completion
    // It is complete and charged.
    if (!account.deferred.includes(due)) return
    slot.endMs = behavior.slotEndMs(arrivedMs + afterMs)
    const all = usage.completion_tokens
    const tokensBy = (ms: number) =>
      generated.flatMap(({ reasoning, content }) => [...reasoning, ...content]).filter(token => token.afterMs <= ms)
        .length
    const delivered = isStream ? tokensBy(afterMs) : 0
    const tokens = behavior.tokensOnLeave({ delivered, generated: tokensBy(afterMs + noticeMs), all })
    if (tokens >= all && behavior.chargesOnLeave === 1) return
    const left: Usage = { ...usage, completion_tokens: tokens, total_tokens: usage.prompt_tokens + tokens }
    const price = model.usdPerMillion
    const pico = (price === null ? 0n : behavior.chatCostPico(left, price)) + perRequestPico
    const charge = { currency: currencyFor(account, pico), pico: pico * BigInt(behavior.chargesOnLeave) }
    const perToken =
      price === null ? 0n : listPricePico({ prompt_tokens: 0, completion_tokens: tokensPerSecond }, price)
    const dueMs = arrivedMs + afterMs
    account.deferred = [
      ...account.deferred.filter(other => other !== due),
      {
        ...due,
        dueMs,
        charge,
        unusedTokens: due.unusedTokens + behavior.usedTokens(usage) - behavior.usedTokens(left),
      },
      ...behavior.generatesOnMs.map(ms => ({
        ...due,
        dueMs: dueMs + ms,
        charge: { ...charge, pico: perToken },
        unusedTokens: 0,
      })),
    ]
  }

/** What a service that generates on charges at a time. */
const tokensPerSecond = 80
