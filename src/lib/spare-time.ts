import type { Later } from './in-batches.ts'

/** What is due or arrives meanwhile has to wait for so long. */
const sliceMs = 1

/**
 * Has work done when the event loop has been round once more: what has arrived is then read, and what was to be written
 * because of it is written.
 */
export const inSpareTime: Later = work => {
  setImmediate(() =>
    setImmediate(() => {
      const endMs = performance.now() + sliceMs
      work(() => performance.now() < endMs)
    }),
  )
}
