import { describe, expect, test } from 'vitest'
import { freshDirectory, turnpike } from '../../support/turnpike.ts'

const NODE_OPTIONS = `--import=${new URL('../../support/without-optional-packages.mjs', import.meta.url)}`
const run = async (args: readonly string[]) => {
  const { code, stdout, stderr } = await turnpike(args, { NODE_OPTIONS })
  const lines = stderr.trim().split('\n')
  const isWish = (line: string) => line.startsWith('wanted: ')
  return { code, stdout, wanted: lines.filter(isWish), said: lines.filter(line => !isWish(line)) }
}

describe.concurrent('without the optional packages', () => {
  test.each(['wallets', 'x402-top-up', 'x402-races'])(
    '%s ends before its first request, and names them',
    async name => {
      const { code, stdout, said } = await run(['run', name])
      const names = 'viem, tiny-secp256k1, @x402/core, @x402/evm, @x402/svm, @solana/kit'
      expect([code, stdout, said]).toEqual([
        2,
        '',
        [`callers.wallets: got packages that are not installed, expected ${names}; run npm install --include=optional`],
      ])
    },
  )

  test.each([
    [
      'run',
      ['run', 'test/e2e/short.yaml', '--redis', 'redis://127.0.0.1:1', '--shards', '2', '--out', freshDirectory()],
    ],
    ['worker', ['worker', '--redis', 'redis://127.0.0.1:1']],
    ['attach', ['attach', '20260101T000000Z-1a2b3c', '--redis', 'redis://127.0.0.1:1']],
  ])('%s over Redis ends before it connects, and names them', async (_, args) => {
    const { code, stdout, said, wanted } = await run(args)
    expect([code, stdout, said]).toEqual([
      2,
      '',
      ['--redis: got packages that are not installed, expected bullmq, ioredis; run npm install --include=optional'],
    ])
    expect(wanted).toContain('wanted: bullmq')
  })

  test('other scenarios pass, and load none of them', async () => {
    const { code, stdout, wanted } = await run(['run', 'test/e2e/short.yaml', '--out', freshDirectory(), '--quiet'])
    expect([code, wanted], stdout).toEqual([0, []])
  })
})
