import type { Clock } from '../lib/clock.ts'
import type { Sight } from './messages.ts'

const freshMs = 1_000

/** What counts was counted; but nothing of it is under way any more. */
const lost = (sight: Sight | null): Sight | null => sight && { ...sight, inFlight: 0 }

/** The latest that each thread has shown of itself. They are only asked where somebody looks. */
export function watchSights(workers: readonly { readonly look: () => Promise<Sight | null> }[], clock: Clock) {
  let known: readonly Sight[] = []
  const latest: (Sight | null)[] = workers.map(() => null)
  let askedMs = Number.NEGATIVE_INFINITY
  let asked: Promise<unknown> = Promise.resolve()
  const look = async (): Promise<void> => {
    await Promise.all(
      workers.map(async (worker, index) => {
        latest[index] = (await worker.look()) ?? lost(latest[index] ?? null)
      }),
    )
    known = latest.filter(sight => sight !== null)
  }
  return {
    look,
    /** The same list until they have been looked at again. */
    known: (): readonly Sight[] => known,
    refresh: async (): Promise<void> => {
      if (clock.nowMs() >= askedMs + freshMs) {
        askedMs = clock.nowMs()
        asked = look()
      }
      await asked
    },
  }
}
