import { expect, test } from 'vitest'
import { freshDirectory } from '../support/turnpike.ts'
import { signedIn, textsIn, watched } from '../support/watched-run.ts'
import { readObservations } from '../support/whole-lines.ts'

test('wallets: API keys and wallets on both chains share the load, without a connection beyond loopback', async () => {
  const out = freshDirectory()
  const { code, stdout, beyond } = await watched(['run', 'wallets', '--out', out, '--quiet', '--workers', '2'])
  expect(code, stdout).toBe(0)
  expect(beyond).toEqual([])
  const observations = await readObservations(out)
  const load = observations.filter(({ stage }) => stage === 'steady')
  expect(new Set(load.map(({ chain }) => chain))).toEqual(new Set([undefined, 'base', 'solana']))
  expect(new Set(load.map(({ response }) => response?.status))).toEqual(new Set([200]))
  expect(new Set(load.map(({ caller }) => caller)).size).toBe(12)
  expect(signedIn(textsIn(out).values())).toEqual([])
})
