import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../lib/usage-error.ts'
import { newRunId } from '../../library/run-draft.ts'
import { createAllowance } from '../../mcp/permissions.ts'
import { serveTools } from '../../mcp/serve.ts'
import type { RunProgram } from '../../mcp/tool.ts'
import { exitCodes, listFlag, text, type Values, version } from '../flags.ts'
import { listenForInterrupts } from '../interrupts.ts'

const main = fileURLToPath(new URL('../../main.js', import.meta.url))

/** Serves tools to one agent, until it closes stdin. Every tool is a command of this program in a child process. */
export async function mcpCommand(values: Values): Promise<number> {
  const folder = process.cwd()
  if (dirname(folder) === folder)
    throw new UsageError({ where: 'working directory', got: folder, expected: 'the folder of a project' })
  const targets = listFlag(values, 'target')
  const allowance = createAllowance({ capUsd: text(values, 'budget-usd'), targets })
  const log = (line: string) => void process.stderr.write(`${line}\n`)
  const newRunDirectory = () => join('runs', `${newRunId()}-mcp`)
  const { stop, dispose } = listenForInterrupts()
  const isOver = new Promise<void>(resolve => {
    stop.addEventListener('abort', () => resolve(), { once: true })
    for (const event of ['end', 'close']) process.stdin.once(event, resolve)
  })
  const server = await serveTools({ program: runProgram, folder, allowance, newRunDirectory }, { version, log })
  log(`Serving tools over stdio; paths are in ${folder}.`)
  await isOver
  // A run that goes is interrupted, and writes its report before this process ends.
  await server.close()
  dispose()
  return exitCodes.pass
}

/** Runs this program again as a child process. It gets no stdin, and its output is kept. */
const runProgram: RunProgram = (args, { signal, onLine }) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    const interrupt = () => void child.kill('SIGINT')
    if (signal.aborted) interrupt()
    signal.addEventListener('abort', interrupt)
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', text => {
      stdout += text
    })
    createInterface({ input: child.stderr }).on('line', line => {
      stderr += `${line}\n`
      onLine?.(line)
    })
    child.once('error', reject)
    child.once('close', code => {
      signal.removeEventListener('abort', interrupt)
      resolve({ code, stdout, stderr })
    })
  })
