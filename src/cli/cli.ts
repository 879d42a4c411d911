import { UsageError } from '../lib/usage-error.ts'
import { commands } from './commands.ts'
import { exitCodes, version } from './flags.ts'
import { commandHelp, mainHelp } from './help.ts'
import { commandOf, parseArguments, surplusWord } from './parse-arguments.ts'

/** Asks what may complete the words after it. The scripts of `turnpike completion` pass it; no help shows it. */
const completeFlag = '--complete'

const isHelp = (word: string): boolean => word === '--help' || word === '-h'
const isVersion = (word: string): boolean => word === '--version' || word === '-v'

/** Parses the command line, runs the command, and returns the exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args
  if (first === completeFlag) return (await import('./commands/completion.ts')).completeCommand(rest, commands)
  if (first === undefined) {
    process.stderr.write(`${mainHelp(commands)}\n`)
    return exitCodes.usage
  }
  if (isVersion(first)) {
    const asJson = rest.join(' ').replace('=', ' ') === '--format json'
    return say(asJson ? JSON.stringify({ version }) : version)
  }
  if (first === 'help') return say(helpOn(rest))
  if (isHelp(first)) return say(mainHelp(commands))
  const command = commandOf(first, commands)
  if (rest.some(isHelp)) return say(commandHelp(command))
  if (rest.some(isVersion)) return say(version)
  return await command.run(parseArguments(rest, command, commands))
}

function say(text: string): number {
  process.stdout.write(`${text}\n`)
  return exitCodes.pass
}

/** The help that `help run` asks for, or about all commands. Throws a UsageError. */
function helpOn(words: readonly string[]): string {
  const [name, ...surplus] = words.filter(word => !isHelp(word))
  if (name === undefined) return mainHelp(commands)
  const command = commandOf(name, commands)
  if (surplus.length === 0) return commandHelp(command)
  throw new UsageError({ where: 'turnpike help', ...surplusWord(surplus[0]), expected: 'one command' })
}
