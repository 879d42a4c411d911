import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A server that this program runs in a process of its own. */
export type OwnProcess = { readonly port: number; readonly stop: () => void }

/** Starts this program once more, with a command that serves; it ends with this one, however this one ends. */
export function startOwnProcess(command: string, flags: readonly string[]): Promise<OwnProcess> {
  const child = fork(fileURLToPath(new URL('../main.js', import.meta.url)), [command, '--port', '0', ...flags], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [],
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`turnpike ${command} ended with ${code} before it was ready`)))
    child.once('message', message => {
      const { port } = message as { readonly port: number }
      resolve({ port, stop: () => void (child.connected && child.disconnect()) })
    })
  })
}
