import diagnostics from 'node:diagnostics_channel'
import { writeSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import threads, { BroadcastChannel, isMainThread, workerData } from 'node:worker_threads'

/**
 * Loaded with `--import` into the program and each of its threads. The second thread fails during the load, after
 * `failAfter` requests, in the way that `FAILING_THREAD` names.
 */
const failAfter = 20
const how = process.env.FAILING_THREAD

const failures = {
  exit: () => process.exit(7),
  throw: () => setImmediate(() => fail('a fault of its own')),
  memory: () => {
    for (const kept = []; ; ) kept.push(new Array(100_000).fill(kept.length))
  },
  terminate: () => new BroadcastChannel('failing-thread').postMessage('now'),
  hang: () => {
    writeSync(2, 'hanging from now on\n')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },
}

function fail(why) {
  throw new Error(why)
}

if (isMainThread) {
  const Thread = threads.Worker
  threads.Worker = class extends Thread {
    constructor(file, options) {
      super(file, { ...options, resourceLimits: { maxOldGenerationSizeMb: 96 } })
      if (options.workerData.shard.worker !== 1) return
      const channel = new BroadcastChannel('failing-thread')
      channel.onmessage = () => this.terminate()
      channel.unref()
    }
  }
  syncBuiltinESMExports()
} else if (workerData.shard?.worker === 1) {
  const { origin } = new URL(workerData.info.target)
  let sent = 0
  // Warm-up requests go to another origin.
  diagnostics.subscribe('undici:client:sendHeaders', ({ request }) => {
    if (request.origin === origin && ++sent === failAfter) failures[how]()
  })
}
