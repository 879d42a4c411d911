import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { places, startEchoTarget } from '../support/echo-target.ts'
import { encodings, reveals } from '../support/secret-forms.ts'
import { freshDirectory, startTurnpike, turnpike } from '../support/turnpike.ts'

/** With characters that URLs, HTML, JSON and Base64 escape. */
const keys = ['sk-Hush93/alpha+Beta_77.x=', 'sk-Hush93/gamma&<Delta>"88']
const special = ['ref-Free93/epsilon+Zeta', 'ref-Zero93/eta+Theta_66']

const directory = freshDirectory()
const scenario = join(directory, 'echo.yaml')
const profile = join(directory, 'quick.yaml')
writeFileSync(profile, 'billing: { settleMs: 0 }\n')
writeFileSync(
  scenario,
  `
name: echo
callers: { count: 2 }
calls:
  chat: { kind: chat, stream: true, model-tier: XS, prompt-tokens: 5, max-completion-tokens: 5 }
  whole: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 5, max-completion-tokens: 5 }
  rpc: { kind: rpc, network: ethereum-mainnet }
stages:
  - { name: steady, duration: 600ms, shape: constant, rate: 90/s, exceed-tier: true, mix: { chat: 2, whole: 2, rpc: 1 } }
bounds: { drain: 300ms }
thresholds: [{ expect: violations == 0, why: The service documents each rule. }]
`,
)

/** The content of every file of a directory. */
const filesIn = (path: string): readonly (readonly [name: string, text: string])[] =>
  readdirSync(path).map(name => {
    const bytes = readFileSync(join(path, name))
    return [name, name.endsWith('.gz') ? gunzipSync(bytes).toString() : bytes.toString()]
  })

const random = () => 0.2
const encoders = encodings.map(
  ({ encode }) =>
    (key: string) =>
      encode(key, random),
)

/** Lower case, because a header name is in lower case, and some programs write Base64 so. */
const formsOf = (key: string): readonly string[] => [...new Set(encoders.map(encode => encode(key).toLowerCase()))]

function expectNone(secrets: readonly string[], texts: readonly (readonly [name: string, text: string])[]): void {
  for (const [name, text] of texts) {
    const lower = text.toLowerCase()
    for (const secret of secrets) {
      for (const form of formsOf(secret)) {
        const at = lower.indexOf(form)
        if (at >= 0) expect.fail(`${name} shows ${secret}: ${text.slice(Math.max(0, at - 60), at + form.length + 20)}`)
      }
      if (reveals(text, secret, 1)) expect.fail(`${secret} can be read in ${name}`)
      // Half a key is too much.
      const piece = secret.slice(3, 15).toLowerCase()
      const at = lower.indexOf(piece)
      if (at >= 0) expect.fail(`${name} shows a part of ${secret}: ${text.slice(Math.max(0, at - 60), at + 40)}`)
    }
  }
}

const formats = ['text', 'markdown', 'html', 'json', 'junit'] as const
const halves = [0, 1] as const

describe.concurrent('a key that comes back', () => {
  for (const [index, place] of places.entries()) {
    for (const half of halves) {
      const format = formats[(index + half) % formats.length] ?? 'text'
      test(`in ${place.name}, half ${half + 1} of the encodings, report as ${format}`, async ({ onTestFinished }) => {
        const target = await startEchoTarget(
          place,
          encoders.filter((_, position) => position % 2 === half),
        )
        onTestFinished(target.close)
        const out = freshDirectory()
        const summary = join(out, '..', `summary-${target.port}.md`)
        const address = `http://127.0.0.1:${target.port}/api/v1`
        const log = half === 0 ? ['--log', 'json'] : []
        const flags = [
          '--target',
          address,
          '--out',
          out,
          '--format',
          format,
          '--profile',
          profile,
          '--no-warm-up',
          ...log,
        ]
        const run = startTurnpike(['run', scenario, ...flags, '--metrics', ':0'], {
          TURNPIKE_KEYS: keys.join(','),
          TURNPIKE_FREE_USER_KEY: special[0] ?? '',
          TURNPIKE_ZERO_BALANCE_KEY: special[1] ?? '',
          GITHUB_ACTIONS: 'true',
          GITHUB_STEP_SUMMARY: summary,
        })
        onTestFinished(() => void run.child.kill('SIGKILL'))
        const endpoint = /http:[^"\s]+\/metrics/.exec(await run.said(/http:[^"\s]+\/metrics/))?.[0] ?? ''
        let metrics = ''
        const scraping = setInterval(() => {
          fetch(endpoint)
            .then(response => response.text())
            .then(
              text => {
                metrics = text
              },
              () => clearInterval(scraping),
            )
        }, 150)
        const { code, stdout, stderr } = await run.ended
        clearInterval(scraping)
        expect([1, 3], stderr).toContain(code)
        const files = filesIn(out)
        expect(files.length, stderr).toBeGreaterThan(6)
        expect(target.sent()).toBeGreaterThan(10)
        expect(stderr).toContain('::error')
        const shown = [
          ...files,
          ['stdout', stdout],
          ['stderr', stderr],
          ['metrics', metrics],
          ['summary', existsSync(summary) ? readFileSync(summary, 'utf8') : ''],
        ] as const
        expectNone([...keys, ...special], shown)
      }, 120_000)
    }
  }
})
