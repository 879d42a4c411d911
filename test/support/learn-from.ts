import type { Contract } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { type Lesson, learn } from '../../src/learn/learn.ts'
import { type LearnedProfile, learnedProfile } from '../../src/learn/profile-text.ts'
import { pico } from '../../src/lib/money.ts'
import type { Transport } from '../../src/produce/transport/transport.ts'
import { type ManualClock, manualClock } from '../../src/prove/manual-clock.ts'
import { memoryTransport } from '../../src/prove/memory-run.ts'
import { defaultLatency } from '../../src/service/capacity.ts'
import type { Lie } from '../../src/service/lies/lie.ts'
import { createService } from '../../src/service/service.ts'

export type Learned = Lesson & LearnedProfile & { readonly tookMs: number }

export type LearnFrom = {
  readonly contract?: Contract
  readonly lies?: readonly Lie[]
  readonly budgetUsd?: string
  /** What a given profile says. */
  readonly demanded?: Contract
  readonly hasOtherCaller?: boolean
  readonly isBrief?: boolean
  /** Its base address, as the command line names it. */
  readonly target?: string
  /** Replaces the connection to the reference service. */
  readonly over?: (service: Transport, clock: ManualClock) => Transport
}

/** What `learn` finds out about a reference service, in virtual time and without sockets. */
export async function learnFrom({
  contract,
  lies = [],
  budgetUsd = '1',
  demanded,
  hasOtherCaller = false,
  isBrief = false,
  target,
  over,
}: LearnFrom = {}): Promise<Learned> {
  const clock = manualClock()
  const service = createService({
    contract: contract ?? documentedContract,
    clock,
    seed: 1,
    openingBalanceUsd: '10',
    openingBalanceDiem: '0',
    timing: defaultLatency,
    lies,
  })
  const transport = memoryTransport(service, clock)
  const lesson = await clock.run(
    learn({
      send: over?.(transport, clock) ?? transport,
      clock,
      caller: { kind: 'key' as const, name: 'learn', keys: ['ref_default_learn'] },
      otherCaller: hasOtherCaller ? { kind: 'key' as const, name: 'other', keys: ['ref_default_other'] } : null,
      zeroBalanceKey: 'ref_zero-balance_learn',
      budgetPico: pico(budgetUsd),
      demanded: demanded ?? null,
      isBrief,
      ...(target !== undefined && { target }),
    }),
  )
  return { ...lesson, ...learnedProfile(lesson, 'http://127.0.0.1:8402/api/v1'), tookMs: clock.nowMs() }
}
