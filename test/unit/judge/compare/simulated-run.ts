import { documentedContract } from '../../../../src/contract/documented.ts'
import type { ComparedRun } from '../../../../src/judge/compare/compare-runs.ts'
import { createSlices } from '../../../../src/judge/metrics/slices.ts'
import { randomStream } from '../../../../src/lib/random.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import type { Plan } from '../../../../src/plan/plan.ts'
import { logNormal } from '../../../../src/service/capacity.ts'
import { aPlan, aStage, dropped, failed, respondedWith } from '../metrics/fixtures.ts'

export type Simulated = {
  readonly seed: number
  /** All times are multiplied by it. */
  readonly factor?: number
  /** A factor that depends on when a request was due. */
  readonly drift?: (dueMs: number) => number
  readonly count?: number
  readonly lateMs?: number
  readonly failing?: number
  readonly drops?: number
  readonly isComplete?: boolean
  readonly verdict?: ComparedRun['verdict']
  readonly plan?: Plan
  readonly change?: (o: Observation) => Observation
}

export const simulatedPlan = aPlan({ stages: [aStage('steady', 120_000)] })

/** A run of one call of 100 ms, evenly due over two minutes, whose times are log-normal. */
export function simulatedRun(options: Simulated): ComparedRun {
  const { seed, factor = 1, drift = () => 1, count = 2_000, lateMs = 0.5, failing = 0, drops = 0 } = options
  const plan = options.plan ?? simulatedPlan
  const random = randomStream(seed, 'simulated')
  const fold = createSlices(plan, documentedContract)
  for (let i = 0; i < count; i++) {
    const dueMs = (i * 120_000) / count
    const sentMs = dueMs + lateMs * (0.5 + random.next())
    const endMs = sentMs + logNormal(random, 100, 0.3) * factor * drift(dueMs)
    const fails = random.next() < failing
    const o = fails ? failed({ dueMs, sentMs, endMs }) : respondedWith(200, { dueMs, sentMs, endMs })
    fold.add(options.change?.(o) ?? o)
  }
  for (let i = 0; i < drops; i++) fold.add(dropped({ dueMs: i }))
  return {
    info: { id: `run-${seed}`, startedAt: '2026-01-02T03:04:05.000Z', target: 't', version: '0', seed },
    plan,
    slices: fold.slices(),
    isComplete: options.isComplete ?? true,
    verdict: options.verdict ?? 'pass',
  }
}
