import { UsageError } from '../lib/usage-error.ts'
import type { ServiceSpec } from '../plan/plan.ts'
import { parseDuration } from '../scenario/units.ts'
import { latencyDistributionKinds, type ServiceCapacity } from '../service/capacity.ts'
import { number, text, type Values } from './command.ts'
import { wholeNumber } from './whole-number.ts'

const longestServiceMs = 600_000

/** What the flags say that the reference service can do at once; null: everything. Throws a UsageError. */
export function serviceCapacity(values: Values): ServiceCapacity | null {
  const slots = given(values, 'slots', { least: 1, most: 100_000 })
  const serviceTime = text(values, 'service-time')
  const queue = given(values, 'queue', { least: 0, most: 1_000_000 })
  if (slots === null && serviceTime === null && queue === null) return null
  if (slots === null) throw new UsageError({ where: '--slots', got: 'nothing', expected: 'a number of slots' })
  const serviceTimeMs = parseDuration(serviceTime ?? '')
  if (serviceTimeMs === null || serviceTimeMs <= 0 || serviceTimeMs > longestServiceMs) {
    const got = serviceTime === null ? 'nothing' : JSON.stringify(serviceTime)
    throw new UsageError({ where: '--service-time', got, expected: 'how long a slot is taken, such as 20ms' })
  }
  // Any other word has been refused with the rest of the command line.
  const spread = latencyDistributionKinds.find(each => each === text(values, 'spread')) ?? 'constant'
  return { slots, serviceTimeMs, spread, queue: queue ?? slots }
}

/** The same as flags, for a service that a run starts. */
export const capacityFlags = (plan: ServiceSpec | null): readonly string[] =>
  plan === null
    ? []
    : [
        ...['--slots', String(plan.slots), '--service-time', `${plan.serviceTimeMs}ms`],
        ...['--spread', plan.spread, '--queue', String(plan.queue)],
      ]

const given = (
  values: Values,
  name: string,
  bounds: { readonly least: number; readonly most: number },
): number | null => (number(values, name) === null ? null : wholeNumber(values, name, bounds))
