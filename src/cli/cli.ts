import type { Argv } from 'yargs'
import { UsageError } from '../lib/usage-error.ts'
import { checkArguments, commandOf, surplusWord } from './check-arguments.ts'
import { commands } from './commands.ts'
import type { Command } from './flags.ts'
import { exitCodes, version } from './flags.ts'

const epilogue = `Exit codes: 0 pass, 1 fail, 2 usage or configuration, 3 inconclusive, 70 internal error, 130 interrupted.
The report goes to stdout; progress and notes go to stderr.`

const aboutKeys = 'Keys come from the environment: export TURNPIKE_KEYS=key-one,key-two'

const firstSteps = `First steps:
  turnpike run smoke            Run a shipped scenario against an embedded reference service
  turnpike plan smoke           Show what it would send and spend
  turnpike help run             Show the flags of a command, with examples`

/** Asks what may complete the words after it. The scripts of `turnpike completion` pass it; no help shows it. */
const completeFlag = '--complete'

const isHelp = (word: string): boolean => word === '--help' || word === '-h'
const isVersion = (word: string): boolean => word === '--version' || word === '-v'

/** Parses the command line, runs the command, and returns the exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args
  if (first === completeFlag) return (await import('./commands/completion.ts')).completeCommand(rest, commands)
  if (first === undefined) {
    process.stderr.write(`${await (await createParser([], () => {})).getHelp()}\n`)
    return exitCodes.usage
  }
  if (isVersion(first)) {
    const asJson = rest.join(' ').replace('=', ' ') === '--format json'
    process.stdout.write(asJson ? `${JSON.stringify({ version })}\n` : `${version}\n`)
    return exitCodes.pass
  }
  if (first === 'help') return await parse([...commandOfHelp(rest), '--help'])
  if (isHelp(first)) return await parse(['--help'])
  commandOf(first, commands)
  return await parse(args)
}

/** The name of the command in `help run`; empty for help about all of them. Throws a UsageError. */
function commandOfHelp(words: readonly string[]): readonly string[] {
  const [name, ...surplus] = words.filter(word => !isHelp(word))
  if (name === undefined) return []
  commandOf(name, commands)
  if (surplus.length === 0) return [name]
  throw new UsageError({ where: 'turnpike help', ...surplusWord(surplus[0]), expected: 'one command' })
}

async function parse(args: readonly string[]): Promise<number> {
  let exitCode: number = exitCodes.pass
  const parser = await createParser(args, code => {
    exitCode = code
  })
  await parser.parseAsync()
  return exitCode
}

async function createParser(args: readonly string[], exit: (code: number) => void): Promise<Argv> {
  const [first = '', ...rest] = args
  const check = () => checkArguments(rest, commandOf(first, commands), commands)
  // Loaded here, because a shell that completes a word does not wait for it.
  const { default: yargs } = await import('yargs')
  const parser = yargs([...args])
    .scriptName('turnpike')
    // Messages are in English on every machine.
    .locale('en')
    .usage(
      '$0 <command>\n\nLoad-tests metered, rate-limited APIs and checks every response against the documented contract.',
    )
    .version(version)
    .alias('version', 'v')
    .epilogue(args.length < 2 ? `${firstSteps}\n\n${epilogue}` : epilogue)
    // Each value has its flag, and a flag is reported as it was written, not a second time in another spelling.
    .parserConfiguration({ 'camel-case-expansion': false, 'greedy-arrays': false })
    .strict()
    .demandCommand(1)
    .wrap(100)
    .help()
    .alias('help', 'h')
    .exitProcess(false)
    .showHelpOnFail(false)
    .fail((message, cause) => {
      if (cause) throw cause
      // In place of its message, which names neither a place nor what is expected.
      check()
      throw new UsageError({ where: 'command line', got: message, expected: 'a command as --help lists it' })
    })
  for (const command of commands) add(parser, command, check, exit)
  return parser
}

function add(parser: Argv, command: Command, check: () => void, exit: (code: number) => void): void {
  parser.command(
    command.usage,
    command.describe,
    builder => {
      for (const [name, flag] of Object.entries(command.arguments)) builder.positional(name, flag)
      const examples = (command.examples ?? []).map(([line, what]) => `  # ${what}\n  turnpike ${line}`)
      if (examples.length > 0) builder.epilogue(['Examples:', ...examples].join('\n'))
      if ('target' in command.flags) builder.epilogue(`\n${aboutKeys}`)
      return builder.options(command.flags).check(() => {
        check()
        return true
      })
    },
    async values => exit(await command.run(values)),
  )
}
