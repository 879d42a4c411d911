#!/usr/bin/env node
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { environmentSecrets, hideSecrets, maskWrites } from './cli/secrets.ts'
import { whyUnreadable } from './lib/read-text.ts'
import { UsageError } from './lib/usage-error.ts'
import { visible } from './lib/visible.ts'

/** A stream that is closed or full changes neither the run nor its exit code. A reader like `head` may leave early. */
process.stderr.on('error', () => {})
let isReported = false
process.stdout.on('error', (cause: NodeJS.ErrnoException) => {
  if (cause.code === 'EPIPE' || isReported) return
  isReported = true
  process.stderr.write(`Turnpike could not write all of its output to stdout: ${whyUnreadable(cause)}.\n`)
})

hideSecrets(environmentSecrets(process.env))
maskWrites(process.stdout)
maskWrites(process.stderr)

/** A mistake of the user or a limit of the machine exits with 2; any other error is a bug and exits with 70. */
function report(cause: unknown): number {
  if (cause instanceof UsageError) {
    process.stderr.write(`${cause.message}\n`)
    return 2
  }
  const code = cause instanceof Error && 'code' in cause ? cause.code : null
  if (code === 'EMFILE' || code === 'ENFILE') {
    process.stderr.write(`open files: got ${code}, expected a higher limit (ulimit -n)\n`)
    return 2
  }
  const trace = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
  process.stderr.write(`Turnpike crashed. This is a bug; please report it with the trace below.\n${visible(trace)}\n`)
  return 70
}

function assertWorkingDirectory(): void {
  try {
    process.cwd()
  } catch {
    throw new UsageError({
      where: 'working directory',
      got: 'a directory that was removed',
      expected: 'one that exists',
    })
  }
}

/**
 * Node.js opens the files of all modules at once. Where it may open too few, its error is EMFILE, or that a package was
 * not found.
 */
function assertOpenFiles(): void {
  const own = fileURLToPath(import.meta.url)
  const files: number[] = []
  try {
    while (files.length < 128) files.push(openSync(own, 'r'))
  } finally {
    for (const file of files) closeSync(file)
  }
}

/** Errors outside of the command. Nothing can be trusted after them. */
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (cause: unknown) => process.exit(report(cause)))

try {
  assertWorkingDirectory()
  assertOpenFiles()
  // Loaded here, so that its errors are reported too.
  const { runCli } = await import('./cli/cli.ts')
  process.exitCode = await runCli(process.argv.slice(2))
} catch (cause) {
  process.exitCode = report(cause)
}
