import yargs from 'yargs'
import { UsageError } from '../lib/usage-error.ts'
import { commands } from './commands.ts'
import type { Command } from './flags.ts'
import { version } from './flags.ts'

const epilogue = `Exit codes: 0 pass, 1 fail, 2 usage or configuration, 3 inconclusive, 70 a fault of ours, 130 interrupted.
The report goes to stdout, progress and log to stderr.`

/** Reads the command line, runs the command, and gives the exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  let exitCode = 0
  const parser = yargs([...args])
    .scriptName('turnpike')
    // Mistakes are told in one language, whatever that of the machine is.
    .locale('en')
    .usage(
      '$0 <command>\n\nLoad-tests metered, rate-limited APIs, and judges every answer by what the service documents.',
    )
    .version(version)
    .epilogue(epilogue)
    .strict()
    .demandCommand(1, 'Name a command; --help lists them.')
    .wrap(100)
    .help()
    .exitProcess(false)
    .showHelpOnFail(false)
    .fail((message, cause) => {
      throw cause ?? new UsageError({ where: 'command line', got: message, expected: 'what --help shows' })
    })
  for (const command of commands) {
    add(parser, command, code => {
      exitCode = code
    })
  }
  await parser.parseAsync()
  return exitCode
}

function add(parser: ReturnType<typeof yargs>, command: Command, exit: (code: number) => void): void {
  parser.command(
    command.usage,
    command.describe,
    builder => {
      for (const [name, flag] of Object.entries(command.arguments)) builder.positional(name, flag)
      return builder.options(command.flags)
    },
    async values => exit(await command.run(values)),
  )
}
