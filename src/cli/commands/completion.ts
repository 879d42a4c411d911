import { clauseIds } from '../../contract/clauses.ts'
import { entriesOf } from '../../lib/schemas.ts'
import { describeValue, nearest, oneOf, UsageError } from '../../lib/usage-error.ts'
import { isScenario, scenarioFile, shippedNames } from '../../library/shipped-files.ts'
import { complete, type NamesOf } from '../complete.ts'
import { type Command, exitCodes, text, type Values } from '../flags.ts'

/** Each asks `turnpike --complete` for the words that may follow. */
const scripts = {
  bash: `# Completion of turnpike for bash. Add this line to ~/.bashrc: source <(turnpike completion bash)
_turnpike() {
  local line files=
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then files=yes; else COMPREPLY+=("$line"); fi
  done < <("\${COMP_WORDS[0]}" --complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "\${COMP_WORDS[COMP_CWORD]#=}")
  fi
}
complete -F _turnpike turnpike
`,
  zsh: `#compdef turnpike
# Completion of turnpike for zsh. Add this line to ~/.zshrc, after compinit: source <(turnpike completion zsh)
_turnpike() {
  local line files=
  local -a offered
  while IFS= read -r line; do
    if [[ $line == :files ]]; then files=yes; else offered+=("$line"); fi
  done < <("\${words[1]}" --complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#offered} )) && compadd -- "\${offered[@]}"
  [[ -n $files ]] && _files
}
compdef _turnpike turnpike
`,
} as const

const shells = Object.keys(scripts)

/** Prints the completion script of a shell. */
export async function completionCommand(values: Values): Promise<number> {
  const shell = text(values, 'shell') ?? ''
  if (shell !== 'bash' && shell !== 'zsh')
    throw new UsageError({
      where: 'turnpike completion',
      got: describeValue(shell),
      expected: oneOf(shells),
      ...nearest(shell, shells),
    })
  process.stdout.write(scripts[shell])
  return exitCodes.pass
}

/** Prints what may complete the last word, a line for each, and `:files` if it may be the name of a file. */
export async function completeCommand(words: readonly string[], commands: readonly Command[]): Promise<number> {
  const { words: offered, files } = await complete(words, commands, namesOf)
  const lines = [...offered, ...(files ? [':files'] : [])]
  process.stdout.write(lines.map(line => `${line}\n`).join(''))
  return exitCodes.pass
}

const namesOf: NamesOf = async (kind, words) => {
  switch (kind) {
    case 'scenario':
    case 'profile':
      return shippedNames(kind)
    case 'clause-or-call':
      return [...(await callsIn(words)), ...clauseIds]
    case 'lie':
      return (await import('../../service/lies/lies.ts')).knownLies()
    case 'shell':
      return shells
  }
}

/** The calls of the scenarios that a command line names. A scenario with a mistake has none: it is not the time to say so. */
async function callsIn(words: readonly string[]): Promise<readonly string[]> {
  const { parseYaml, readYaml } = await import('../../lib/yaml.ts')
  const kind = { name: 'scenario', secretHint: '' }
  return words.filter(isScenario).flatMap(word => {
    try {
      const file = scenarioFile(word)
      return Object.keys(entriesOf(entriesOf(parseYaml(readYaml(file, kind), file, kind).value).calls))
    } catch (cause) {
      if (cause instanceof UsageError) return []
      throw cause
    }
  })
}
