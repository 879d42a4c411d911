import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { Observation } from '../../src/observation/observation.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'

const scenario = 'test/e2e/wallets.yaml'

const textIn = (path: string): string => {
  const bytes = readFileSync(path)
  return path.endsWith('.gz') ? gunzipSync(bytes).toString() : bytes.toString()
}

function observationsIn(out: string): readonly Observation[] {
  const lines = textIn(join(out, 'observations.ndjson.gz')).trim().split('\n')
  return lines.map(line => JSON.parse(line) as Observation).filter(({ request }) => request !== undefined)
}

test('wallets on both chains pay before the load and in it, and call', async () => {
  const out = freshDirectory()
  const { stderr } = await turnpike(['run', scenario, '--out', out, '--quiet'])
  const observations = observationsIn(out)
  const ofWallets = observations.filter(({ chain }) => chain !== undefined)
  expect(new Set(ofWallets.map(({ chain }) => chain)), stderr).toEqual(new Set(['base', 'solana']))
  const load = observations.filter(({ stage }) => stage === 'steady')
  expect(new Set(load.map(({ caller }) => caller))).toEqual(new Set(['c0', 'c1', 'w0', 'w1', 'w2', 'w3']))
  expect(new Set(load.map(({ response }) => response?.status))).toEqual(new Set([200]))
  // The same payment at once on two connections: one of them counts.
  const raced = ofWallets.filter(
    ({ stage, request }) => stage === 'again' && request.kind === 'top-up' && request.payment,
  )
  expect(raced).toHaveLength(8)
  for (const wallet of ['w0', 'w1', 'w2', 'w3']) {
    const statuses = raced.filter(({ caller }) => caller === wallet).map(({ response }) => response?.status)
    expect(statuses.filter(status => status === 200)).toHaveLength(1)
  }
  // No file has a sign-in or a private key. Base64 JSON begins with "eyJ"; offers of a target are allowed.
  const texts = readdirSync(out).map(name => textIn(join(out, name)))
  for (const text of texts) expect(text).not.toMatch(/privateKey|Sign in to the service\\n\\nURI/)
})

test('a mistake in a private key is one error that does not show it, before anything is sent', async () => {
  const secret = '4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f36231z'
  const flags = ['--target', 'http://127.0.0.1:9/api/v1']
  const { code, stderr, stdout } = await turnpike(['run', scenario, ...flags], { TURNPIKE_WALLET_KEYS: secret })
  expect(code).toBe(2)
  expect(stderr).toContain('TURNPIKE_WALLET_KEYS')
  expect(stderr + stdout).not.toContain(secret.slice(0, 12))
})

test('wallets never pay elsewhere than on this machine without --top-up', async () => {
  const flags = ['--target', 'https://api.example.invalid/v1', '--budget-usd', '100']
  const { stdout } = await turnpike(['plan', scenario, ...flags])
  expect(stdout).toContain('pay nothing without --top-up')
})
