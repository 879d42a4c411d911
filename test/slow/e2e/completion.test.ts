import { describe, expect, test } from 'vitest'
import { shell } from '../../support/shell.ts'

/** What bash offers for the words of a command line, the last of which is being written. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await shell(`touch mine.yaml
source <(turnpike completion bash)
COMP_WORDS=(turnpike ${words.map(word => `'${word}'`).join(' ')})
COMP_CWORD=${words.length}
_turnpike
printf '%s\\n' "\${COMPREPLY[@]}"`)
  return stdout.trim().split('\n')
}

describe.concurrent('completion in bash', () => {
  test('offers commands, flags, and the values of flags', async () => {
    expect(await offered('pl')).toEqual(['plan'])
    expect(await offered('run', 'smoke', '--only', 'rpc.batch.c')).toEqual(['rpc.batch.correlation'])
    expect(await offered('run', 'smoke', '--format', '=', 'j')).toEqual(['json', 'junit'])
  })

  test('offers shipped scenarios and files together', async () => {
    expect(await offered('run', 'smo')).toEqual(['smoke'])
    expect(await offered('run', 'mi')).toEqual(['mine.yaml'])
  })

  test('offers the calls of the scenario, and nothing but silence for a mistake', async () => {
    expect(await offered('run', 'smoke', '--only', 'repl')).toEqual(['replay', 'replay-racing'])
    expect(await offered('run', 'no-such.yaml', '--no-such-flag', '--see')).toEqual(['--seed'])
    expect(await offered('no-such-command', '')).toEqual([''])
  })
})
