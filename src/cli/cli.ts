import yargs from 'yargs'
import { UsageError } from '../lib/usage-error.ts'
import { commands } from './commands.ts'
import type { Command } from './flags.ts'
import { checkArguments, version } from './flags.ts'

const epilogue = `Exit codes: 0 pass, 1 fail, 2 usage or configuration, 3 inconclusive, 70 internal error, 130 interrupted.
The report goes to stdout; progress and notes go to stderr.`

/** Parses the command line, runs the command, and returns the exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  checkArguments(args, commands)
  let exitCode = 0
  const parser = yargs([...args])
    .scriptName('turnpike')
    // Messages are in English on every machine.
    .locale('en')
    .usage(
      '$0 <command>\n\nLoad-tests metered, rate-limited APIs and checks every response against the documented contract.',
    )
    .version(version)
    .epilogue(epilogue)
    // An unknown flag is reported as it was written, not a second time in another spelling.
    .parserConfiguration({ 'camel-case-expansion': false })
    .strict()
    .demandCommand(1, 'Missing command. Run `turnpike --help` for a list.')
    .wrap(100)
    .help()
    .exitProcess(false)
    .showHelpOnFail(false)
    .fail((message, cause) => {
      throw cause ?? new UsageError({ where: 'command line', got: message, expected: 'a command as --help lists it' })
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
