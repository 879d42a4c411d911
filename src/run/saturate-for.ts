import type { Clock } from '../lib/clock.ts'
import type { Plan } from '../plan/plan.ts'
import type { Saturate } from '../transport/transport.ts'

/** What keeps connections busy. autocannon takes long to load, so it is only where a stage wants it. */
export async function saturateFor(plan: Plan, baseUrl: string, clock: Clock): Promise<Saturate> {
  if (!plan.stages.some(({ load }) => load.model === 'saturate')) return async () => {}
  const { createSaturate } = await import('../transport/autocannon.ts')
  return createSaturate({ baseUrl, clock })
}
