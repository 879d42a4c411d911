#!/usr/bin/env node
import { runCli } from './cli/cli.ts'
import { environmentSecrets, hideSecrets, maskWrites } from './cli/secrets.ts'
import { UsageError } from './lib/usage-error.ts'

/** A reader that closes the pipe early, like `head`, changes neither the run nor its exit code. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EPIPE') throw cause
  })
}

hideSecrets(environmentSecrets(process.env))
maskWrites(process.stdout)
maskWrites(process.stderr)

/** The only catch-all. A mistake of the user exits with 2; any other error is a bug and exits with 70. */
try {
  process.exitCode = await runCli(process.argv.slice(2))
} catch (cause) {
  if (cause instanceof UsageError) {
    process.stderr.write(`${cause.message}\n`)
    process.exitCode = 2
  } else {
    process.stderr.write(
      `Turnpike crashed. This is a bug; please report it with the trace below.\n${cause instanceof Error ? cause.stack : cause}\n`,
    )
    process.exitCode = 70
  }
}
