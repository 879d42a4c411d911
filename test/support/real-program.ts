import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'

/** An external server as a child process. */
export type RealProgram = {
  readonly child: ChildProcess
  /** Kills the process, as if its machine failed. */
  readonly kill: () => Promise<void>
}

/**
 * Starts the program. Resolves when it responds at its path `ready`, which is `/-/ready` by default, with a status of
 * success or `readyStatus`.
 */
export async function startProgram(
  name: string,
  flags: readonly string[],
  {
    origin,
    folder,
    ready = '/-/ready',
    readyStatus,
  }: { readonly origin: string; readonly folder: string; readonly ready?: string; readonly readyStatus?: number },
): Promise<RealProgram> {
  const child = spawn(name, flags, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', bytes => {
    stderr += bytes
  })
  const isReady = () =>
    fetch(`${origin}${ready}`).then(
      ({ ok, status }) => ok || status === readyStatus,
      () => false,
    )
  for (let tries = 0; !(await isReady()); tries++) {
    if (tries === 300 || child.exitCode !== null) throw new Error(`${name} did not start: ${stderr}`)
    await pause(100)
  }
  return {
    child,
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
