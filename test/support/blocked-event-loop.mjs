import { isMainThread } from 'node:worker_threads'

/**
 * Loaded with `--import` into the program and each of its threads. SIGUSR2 blocks the main thread for as many
 * milliseconds as `BLOCKED_MS` says. The other threads go on.
 */
const blockedMs = Number(process.env.BLOCKED_MS)

if (isMainThread)
  process.on('SIGUSR2', () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockedMs)
  })
