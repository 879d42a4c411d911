import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { recordedRun } from '../../support/recorded-run.ts'
import { freshDirectory, serveForTest, startTurnpike, turnpike } from '../../support/turnpike.ts'

const scenario = 'test/e2e/short.yaml'

/** The secret as plain text, URL-encoded, in hex, and in base64 at any offset of the encoded text. */
function formsOf(secret: string): readonly string[] {
  const base64 = (['base64', 'base64url'] as const).flatMap(encoding =>
    [0, 1, 2].map(before => {
      const text = Buffer.from(`${'.'.repeat(before)}${secret}`).toString(encoding)
      // The first and last characters depend on the neighbors of the secret.
      return text.slice(before === 0 ? 0 : 4, -4)
    }),
  )
  return [secret, encodeURIComponent(secret), Buffer.from(secret).toString('hex'), ...base64]
}

/** The content of every file of the directory. */
const textsIn = (directory: string): readonly string[] =>
  readdirSync(directory).map(name => {
    const bytes = readFileSync(join(directory, name))
    return name.endsWith('.gz') ? gunzipSync(bytes).toString() : bytes.toString()
  })

function expectNoneOf(secrets: readonly string[], texts: readonly string[]): void {
  for (const form of secrets.flatMap(formsOf))
    for (const text of texts) if (text.includes(form)) expect.fail(`${form} is in ${text.slice(0, 200)}`)
}

test('expectNoneOf finds every form of a secret', () => {
  const secret = 'sk+hush/alpha=93&x'
  const made = [
    `Bearer ${secret}`,
    `?key=${encodeURIComponent(secret)}`,
    ...['', 'a', 'ab', 'Bearer '].map(before => Buffer.from(`${before}${secret} and more`).toString('base64')),
    Buffer.from(`:${secret}`).toString('base64url'),
  ]
  for (const text of made) expect(() => expectNoneOf([secret], [text]), text).toThrow()
  expectNoneOf([secret], ['Bearer $TURNPIKE_KEY'])
})

test('no key is in any output of a run: files, findings, metrics and comparison', async ({ onTestFinished }) => {
  const lying = ['service', '--lie', 'failed-item-in-full', '--fault', '503:0.2']
  const { target } = await serveForTest(lying, onTestFinished)
  const baseline = await recordedRun(join(freshDirectory(), 'base'), { scenario })
  const out = freshDirectory()
  const keys = ['ref_default_hush-alpha-93', 'ref_default_hush-beta-93', 'ref_default_hush-gamma-93']
  const [freeUser, zeroBalance] = ['ref_free-user_hush-delta-93', 'ref_zero-balance_hush-epsilon-93']
  const flags = ['--target', target, '--out', out, '--baseline', baseline, '--metrics', ':0']
  const run = startTurnpike(['run', scenario, ...flags], {
    TURNPIKE_KEYS: keys.join(','),
    TURNPIKE_FREE_USER_KEY: freeUser,
    TURNPIKE_ZERO_BALANCE_KEY: zeroBalance,
    GITHUB_ACTIONS: 'true',
  })
  onTestFinished(() => void run.child.kill('SIGKILL'))
  let notes = ''
  run.child.stderr?.on('data', bytes => {
    notes += bytes
  })
  await run.said('/metrics')
  const endpoint = /http:\S+\/metrics/.exec(notes)?.[0] ?? ''
  let metrics = ''
  // Before the first response there are no metrics. After the run the endpoint is closed, so fetch fails the test.
  while (!metrics.includes('turnpike_requests_total{')) metrics = await (await fetch(endpoint)).text()
  const { code, stdout, stderr } = await run.ended
  expect(code).toBe(1)

  const compared = freshDirectory()
  const comparison = await turnpike(['compare', baseline, out, '--out', compared])
  const written = textsIn(out)
  expect(written).toHaveLength(11)
  expect(written.join('')).toContain('"caller":"c0"')
  expect(written.join('')).toContain('TURNPIKE_KEY')
  expect(textsIn(compared)).toHaveLength(4)
  expect(stderr).toContain('::error')
  const shown = [stdout, stderr, comparison.stdout, comparison.stderr, metrics]
  expectNoneOf([...keys, freeUser, zeroBalance], [...written, ...textsIn(compared), ...shown])
})

test('nor is a key with characters that URLs and HTML encode', async ({ onTestFinished }) => {
  const target = createServer((_, response) =>
    response.writeHead(401, { 'content-type': 'application/json' }).end('{}'),
  )
  onTestFinished(() => void target.close())
  await new Promise<void>(resolve => target.listen(0, '127.0.0.1', resolve))
  const address = target.address()
  const port = typeof address === 'object' ? address?.port : address
  const keys = ['sk+hush/alpha=93&<x>"', "sk+hush/beta=93%&'y'", 'sk+hush/gamma=93|$(z)`']
  const out = freshDirectory()
  const flags = ['--target', `http://127.0.0.1:${port}/api/v1`, '--out', out, '--log', 'json']
  const { code, stdout, stderr } = await turnpike(['run', scenario, ...flags], { TURNPIKE_KEYS: keys.join(',') })
  expect(code).not.toBe(2)
  expectNoneOf(keys, [...textsIn(out), stdout, stderr])
})
