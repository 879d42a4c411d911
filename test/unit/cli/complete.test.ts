import { describe, expect, test } from 'vitest'
import { commands } from '../../../src/cli/commands.ts'
import { complete, type NameKind } from '../../../src/cli/complete.ts'

const names: Readonly<Record<NameKind, readonly string[]>> = {
  scenario: ['smoke', 'nightly'],
  profile: ['openai-compatible'],
  'clause-or-call': ['chat', 'chat.id.unique', 'rpc.order'],
  lie: ['no-id', 'late-429'],
  shell: ['bash', 'zsh'],
}

const offer = (line: string) => complete(line.split(' '), commands, async kind => names[kind])
const wordsAfter = async (line: string) => (await offer(line)).words

describe('the words that may follow', () => {
  test('are the commands at the start, and after help', async () => {
    expect(await wordsAfter('')).toEqual(expect.arrayContaining(['run', 'completion', 'help', '--version']))
    expect(await wordsAfter('cal')).toEqual(['calibrate', 'calibration-server'])
    expect(await wordsAfter('help rep')).toEqual(['report'])
    expect(await wordsAfter('help run ')).toEqual([])
    expect(await wordsAfter('no-such-command ')).toEqual([])
  })

  test.each(commands.map(({ usage }) => usage.split(' ')[0] ?? ''))('are the flags of the command: %s', async name => {
    const { flags = {} } = commands.find(({ usage }) => usage.split(' ')[0] === name) ?? {}
    const offered = (await wordsAfter(`${name} --`)).map(word => word.replace(/^--(no-)?/, ''))
    expect(offered).toEqual([...Object.keys(flags), 'help'])
  })

  test('leave out a flag that is given, unless it may be repeated', async () => {
    const words = await wordsAfter('run smoke --seed 3 --only chat --format=json --')
    expect(words).toContain('--only')
    expect(words).not.toContain('--seed')
    expect(words).not.toContain('--format')
  })

  test('turn off a flag that is on', async () => {
    expect(await wordsAfter('run --no-')).toEqual(['--no-warm-up', '--no-progress'])
  })

  test.each<readonly [line: string, words: readonly string[], files: boolean]>([
    ['run ', ['smoke', 'nightly'], true],
    ['run smoke n', ['nightly'], true],
    ['plan s', ['smoke'], true],
    ['plan smoke ', [], false],
    ['run smoke --profile ', ['openai-compatible'], true],
    ['run smoke --only chat', ['chat', 'chat.id.unique'], false],
    ['run smoke --only chat --only r', ['rpc.order'], false],
    ['service --lie n', ['no-id'], false],
    ['service --port ', [], false],
    ['run smoke --format j', ['json', 'junit'], false],
    ['run smoke --format=h', ['--format=html'], false],
    ['run smoke --format = h', ['html'], false],
    ['run smoke --format =', ['text', 'json', 'html', 'junit', 'markdown', 'sarif'], false],
    ['run --quiet s', ['smoke'], true],
    ['run --seed 3 s', ['smoke'], true],
    ['run smoke --out ', [], true],
    ['report ', [], true],
    ['compare a b ', [], true],
    ['findings runs/a ', [], false],
    ['completion ', ['bash', 'zsh'], false],
    ['schema ', [], false],
  ])('are the values that belong there: turnpike %s', async (line, words, files) => {
    expect(await offer(line)).toEqual({ words, files })
  })

  test('are names of files wherever a flag takes a path', async () => {
    const paths = commands.flatMap(({ usage, flags }) =>
      Object.entries(flags)
        .filter(([, { type, describe: words }]) => type === 'string' && /\b(directory|file|folder)\b/i.test(words))
        .map(([name]) => `${usage.split(' ')[0]} --${name} `),
    )
    expect(paths.length).toBeGreaterThan(4)
    for (const line of paths) expect([line, (await offer(line)).files]).toEqual([line, true])
  })
})
