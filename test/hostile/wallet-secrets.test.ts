import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { http, places, type Response, startEchoTarget } from '../support/echo-target.ts'
import { todays } from '../support/nightly.ts'
import { encodings } from '../support/secret-forms.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'
import { startX402Server, type X402Server } from '../support/x402-server.ts'

const directory = freshDirectory()
const scenario = join(directory, 'echo.yaml')
const profile = join(directory, 'quick.yaml')
writeFileSync(profile, 'billing: { settleMs: 0 }\n')
writeFileSync(
  scenario,
  `
name: echo
callers: { count: 0, wallets: 4, chain: [base, solana] }
calls:
  chat: { kind: chat, stream: true, model-tier: XS, prompt-tokens: 5, max-completion-tokens: 5 }
  whole: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 5, max-completion-tokens: 5 }
  rpc: { kind: rpc, network: ethereum-mainnet }
  credit: { kind: wallet-balance }
  pay: { kind: top-up, pay: true, usd: 5, duplicates: 9 }
stages:
  - { name: steady, duration: 600ms, shape: constant, rate: 90/s, exceed-tier: true, mix: { chat: 2, whole: 1, rpc: 1 } }
  - { name: pay, duration: 3s, shape: sequence, calls: [pay, credit], exceed-failure-limit: true }
bounds: { drain: 300ms }
thresholds: [{ expect: violations == 0, why: The service documents each rule. }]
`,
)

let node: X402Server
beforeAll(async () => {
  node = await startX402Server()
})
afterAll(() => node.close())

const option = { scheme: 'exact', amount: '5000000', maxTimeoutSeconds: 300 }
const offer = (): Response =>
  http({
    status: '402 Payment Required',
    body: JSON.stringify({
      x402Version: 2,
      accepts: [
        {
          ...{ ...option, network: 'eip155:8453', asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' },
          ...{ payTo: node.payTo.base, extra: { name: 'USD Coin', version: '2' } },
        },
        {
          ...{ ...option, network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' },
          ...{ asset: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', payTo: node.payTo.solana },
          extra: { feePayer: node.payTo.solana },
        },
      ],
    }),
  })

/** The signature in the header of a sign-in or of a payment, or the transaction that has it. */
function signatureIn(header: string): string {
  const { signature, payload } = JSON.parse(Buffer.from(header, 'base64').toString()) as {
    readonly signature?: string
    readonly payload?: { readonly signature?: string; readonly transaction?: string }
  }
  return signature ?? payload?.signature ?? payload?.transaction ?? ''
}

/** What must not be seen. The second signature of a transaction is that of the wallet. */
function secretIn(header: string): string {
  const signature = signatureIn(header)
  return signature.length > 200 ? signature.slice(88, 172) : signature.replace(/^0x/, '')
}

/** An event of a stream is one line, and a text that lost its line ends is no encoding. */
const encoders = encodings
  .filter(({ name }) => name !== 'quoted-printable in lines')
  .map(
    ({ encode }) =>
      (text: string) =>
        encode(text, () => 0.2),
  )

const textsIn = (path: string): readonly (readonly [name: string, text: string])[] =>
  readdirSync(path).map(name => {
    const bytes = readFileSync(join(path, name))
    return [name, name.endsWith('.gz') ? gunzipSync(bytes).toString() : bytes.toString()]
  })

function expectNone(secret: string, texts: readonly (readonly [name: string, text: string])[]): void {
  // A third of a signature is enough to say where it came from.
  const piece = secret.slice(Math.floor(secret.length / 3), Math.floor((2 * secret.length) / 3))
  const base64 = [0, 1, 2].map(before =>
    Buffer.from(`${'.'.repeat(before)}${piece}`)
      .toString('base64')
      .slice(4, -4),
  )
  const forms = [piece, ...base64, ...encoders.map(encode => encode(secret))].map(form => form.toLowerCase())
  for (const [name, text] of texts)
    for (const form of new Set(forms)) {
      const at = text.indexOf(form)
      if (at >= 0) expect.fail(`${name} shows ${form}: ${text.slice(Math.max(0, at - 80), at + form.length + 20)}`)
    }
}

const formats = ['text', 'markdown', 'html', 'json', 'junit'] as const

let payments = 0

describe.concurrent('a sign-in or a payment that comes back', () => {
  for (const [index, place] of todays([...places.entries()], 2)) {
    const format = formats[index % formats.length] ?? 'text'
    test(`in ${place.name}, with the report as ${format}`, async ({ onTestFinished }) => {
      const seen = { signIn: new Set<string>(), payment: new Set<string>() }
      let turns = 0
      const target = await startEchoTarget(place, encoders, head => {
        const [, kind = '', header] = /\r\n(sign-in-with-x|payment-signature): (\S+)\r\n/i.exec(head) ?? []
        if (header === undefined)
          return head.includes('/x402/top-up') ? offer() : http({ body: '{"error":"nothing to send back"}' })
        seen[kind.toLowerCase() === 'sign-in-with-x' ? 'signIn' : 'payment'].add(header)
        return turns++ % 2 === 0 ? header : signatureIn(header)
      })
      onTestFinished(target.close)
      const out = freshDirectory()
      const flags = ['--target', `http://127.0.0.1:${target.port}/api/v1`, '--profile', profile, '--out', out]
      const { code, stdout, stderr } = await turnpike(
        ['run', scenario, ...flags, '--format', format, '--no-warm-up', ...(index % 2 === 0 ? ['--log', 'json'] : [])],
        { TURNPIKE_SOLANA_NODE: node.node },
      )
      expect([0, 1, 3], stderr).toContain(code)
      expect(seen.signIn.size, stderr).toBeGreaterThan(2)
      payments += seen.payment.size
      const files = textsIn(out)
      expect(files.length, stderr).toBeGreaterThan(6)
      const shown = [...files, ['stdout', stdout], ['stderr', stderr]] as const
      const lower = shown.map(([name, text]) => [name, text.toLowerCase()] as const)
      for (const header of [...seen.signIn, ...seen.payment]) expectNone(secretIn(header), lower)
      const { run } = JSON.parse(files.find(([name]) => name === 'report.json')?.[1] ?? '{}') as {
        readonly run: { readonly id: string }
      }
      for (const wallet of ['w0', 'w1', 'w2', 'w3'])
        expectNone(createHash('sha256').update(`wallet/${run.id}/${wallet}`).digest('hex'), lower)
    })
  }
})

test('most runs got as far as their payments', () => {
  expect(payments).toBeGreaterThan(10)
})
