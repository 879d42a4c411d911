import { UsageError } from '../lib/usage-error.ts'
import { checkArguments, commandOf, surplusWord } from './check-arguments.ts'
import { commands } from './commands.ts'
import { type Command, exitCodes, failCodeOf, type Values, version } from './flags.ts'
import { commandHelp, mainHelp } from './help.ts'

/** Asks what may complete the words after it. The scripts of `turnpike completion` pass it; no help shows it. */
const completeFlag = '--complete'

const isHelp = (word: string): boolean => word === '--help' || word === '-h'
const isVersion = (word: string): boolean => word === '--version' || word === '-v'

/** Runs a command. Returns the exit code, and throws a UsageError for bad input. */
export async function runCli(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args
  if (first === completeFlag) return (await import('./commands/completion.ts')).completeCommand(rest, commands)
  if (first === undefined) {
    process.stderr.write(`${mainHelp(commands, process.stderr.columns)}\n`)
    return exitCodes.usage
  }
  if (isVersion(first)) {
    const asJson = rest.join(' ').replace('=', ' ') === '--format json'
    return say(asJson ? JSON.stringify({ version }) : version)
  }
  if (first === 'help') return say(helpOn(rest))
  if (isHelp(first)) return say(mainHelp(commands, process.stdout.columns))
  const command = commandOf(first, commands)
  if (rest.some(isHelp)) return say(commandHelp(command, process.stdout.columns))
  if (rest.some(isVersion)) return say(version)
  checkArguments(rest, command, commands)
  const values = await parse(rest, command)
  const failCode = failCodeOf(values)
  const code = await command.run(values)
  return code === exitCodes.fail ? failCode : code
}

function say(text: string): number {
  process.stdout.write(`${text}\n`)
  return exitCodes.pass
}

/** The help that `help run` asks for, or about all commands. Throws a UsageError. */
function helpOn(words: readonly string[]): string {
  const [name, ...surplus] = words.filter(word => !isHelp(word))
  if (name === undefined) return mainHelp(commands, process.stdout.columns)
  const command = commandOf(name, commands)
  if (surplus.length === 0) return commandHelp(command, process.stdout.columns)
  throw new UsageError({
    where: 'turnpike help',
    ...surplusWord(surplus[0]),
    expected: 'one command, as in turnpike help run',
  })
}

async function parse(args: readonly string[], command: Command): Promise<Values> {
  // Loaded here, because neither the help nor a shell that completes a word needs it.
  const { default: yargs } = await import('yargs')
  let values: Values = {}
  const parser = yargs([...args])
    // Messages are in English on every machine.
    .locale('en')
    .help(false)
    .version(false)
    // Each value has its flag, and a flag is reported as it was written, not a second time in another spelling.
    .parserConfiguration({ 'camel-case-expansion': false, 'greedy-arrays': false })
    .strict()
    .exitProcess(false)
    .fail((message, cause) => {
      if (cause) throw cause
      throw new UsageError({ where: 'command line', got: message, expected: 'a command as --help lists it' })
    })
    .command(
      // The default command, because yargs lays out the help of any other one before it returns.
      command.usage.replace(/^\S+/, '$0'),
      command.describe,
      builder => {
        for (const [name, flag] of Object.entries(command.arguments)) builder.positional(name, flag)
        return builder.options(command.flags)
      },
      parsed => {
        values = parsed
      },
    )
  await parser.parseAsync()
  return values
}
