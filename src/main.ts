#!/usr/bin/env node
import { runCli } from './cli/cli.ts'
import { UsageError } from './lib/usage-error.ts'

/** Who reads a report to its first lines and hangs up, as `head` does, changes neither the run nor its exit code. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EPIPE') throw cause
  })
}

/** The one catch-all: a mistake of the user's is told in a line and is 2; anything else is ours, and is 70. */
try {
  process.exitCode = await runCli(process.argv.slice(2))
} catch (cause) {
  if (cause instanceof UsageError) {
    process.stderr.write(`${cause.message}\n`)
    process.exitCode = 2
  } else {
    process.stderr.write(
      `turnpike failed, and it is not your fault.\n${cause instanceof Error ? cause.stack : cause}\n`,
    )
    process.exitCode = 70
  }
}
