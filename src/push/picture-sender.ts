import { type Clock, sleepUntil } from '../lib/clock.ts'
import type { Outbox } from './outbox.ts'
import type { Reading } from './readings.ts'
import { createScribe } from './scribe.ts'

/** Sends pictures of all series to a receiver while a run goes. */
export type PictureSender = {
  /** Sends a last picture, with more in it, and ends every series. Resolves when nothing is left, or `until` aborts. */
  readonly finish: (last: readonly (readonly Reading[])[], until: AbortSignal) => Promise<void>
  /** Sends no more. */
  readonly stop: () => void
}

export type PictureSenderOptions = {
  readonly clock: Clock
  readonly outbox: Outbox
  readonly readings: () => Promise<Iterable<readonly Reading[]>>
  readonly readProcess: () => Promise<readonly Reading[]>
  /** Labels of every series. No other run has the same. */
  readonly identity: Readonly<Record<string, string>>
  readonly note: (line: string) => void
}

/** As often as Prometheus scrapes by the configuration that comes with the dashboards, whose rates are over four of these. */
const pictureEveryMs = 2_000

export function startPictureSender(options: PictureSenderOptions): PictureSender {
  const { clock, outbox, readings, readProcess, identity, note } = options
  const stopped = new AbortController()
  const scribe = createScribe(identity, () => sleepUntil(clock, clock.nowMs()))
  let latestMs = 0

  /** The instants of a series must ascend, also where two pictures are taken at once. */
  async function send(families: Iterable<readonly Reading[]>): Promise<void> {
    latestMs = Math.max(Math.round(clock.wallMs()), latestMs + 1)
    for await (const letter of scribe.write(families, latestMs)) outbox.put(letter)
  }

  async function picture(more: readonly (readonly Reading[])[]): Promise<void> {
    try {
      const ofProcess = await readProcess()
      await send(chain(await readings(), [ofProcess, ...more]))
    } catch (cause) {
      // Who only watches must not end the run.
      note(`nothing was sent this time: ${cause}`)
    }
  }

  async function takePictures(): Promise<void> {
    for (let dueMs = clock.nowMs(); !stopped.signal.aborted; ) {
      await picture([])
      dueMs = Math.max(dueMs + pictureEveryMs, clock.nowMs())
      await sleepUntil(clock, dueMs, stopped.signal)
    }
  }

  const pictures = takePictures()
  return {
    stop: () => stopped.abort(),
    finish: async (last, until) => {
      stopped.abort()
      await pictures
      await picture(last)
      await send([])
      await outbox.flush(until)
    },
  }
}

function* chain<Item>(...lists: readonly Iterable<Item>[]): Iterable<Item> {
  for (const list of lists) yield* list
}
