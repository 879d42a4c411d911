import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { probeOf } from '../../../src/contract/probes.ts'
import type { JudgedPlan } from '../../../src/judge/compare/comparable.ts'
import type { Call } from '../../../src/plan/plan.ts'
import { type Repeated, reproScript } from '../../../src/run/repro-script.ts'
import type { Sequence, SequenceRequest } from '../../../src/run/sequence.ts'
import { virtualRun } from '../../support/virtual-run.ts'
import { failingReport } from '../report/fixtures.ts'

const { plan } = await virtualRun({
  scenario: `name: calls
seed: 1
callers: { count: 3 }
calls:
  refused: { kind: probe, probe: unlisted-method }
  free: { kind: probe, probe: model-of-pro-tier }
  single: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
  again: { kind: replay, of: single, duplicates: 1 }
stages:
  - { name: list, duration: 2s, shape: sequence, calls: [refused] }
`.replace(/ {2}free:.*\n/, ''),
})
const { path } = probeOf('unlisted-method').request(documentedContract)
const judged: JudgedPlan = { plan: { ...plan, target: 'http://127.0.0.1:8402/api/v1' }, contract: documentedContract }

const request = (id: number, changes: Partial<SequenceRequest> = {}): SequenceRequest => ({
  ...{ id, firstId: id, step: 'only', key: 0, caller: 'c0', stage: 'list', call: 'refused', decides: false },
  ...{ sentMs: 1000 + id * 100, endMs: 1050 + id * 100, outcome: 'answered 400' },
  ...changes,
})
const sequence = (requests: readonly SequenceRequest[]): Sequence => ({ requests, missing: [], omitted: 0, added: 0 })
const example = {
  ...{ requestIds: [1, 2], decidedBy: [2], omitted: 0, count: 3, evidence: [] },
  message: 'a request got status 200, expected a block of 30 s',
}
const repeated: Repeated = {
  ...{ number: 4, name: 'abuse.counts', text: 'Every status other than a success counts.', example },
  run: { ...failingReport.run, target: 'http://127.0.0.1:8402/api/v1' },
}
const script = (requests: readonly SequenceRequest[], changes: Partial<Repeated> = {}, of: JudgedPlan = judged) =>
  reproScript({ ...repeated, ...changes }, sequence(requests), of)

const replayed = [
  request(1, { call: 'again', firstId: 1, step: 'original', endMs: 1300 }),
  request(2, { call: 'again', firstId: 1, step: 'other-caller', caller: 'c1', sentMs: 1110, endMs: 1350 }),
  request(4, { call: 'refused', caller: 'c1', decides: true }),
]

/** Runs a script with a curl that notes its arguments, and its body. */
function noted(text: string, environment: Readonly<Record<string, string>> = {}, seconds = 0) {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-repro-'))
  const file = (name: string) => join(directory, name)
  const curl = `#!/usr/bin/env bash
{ printf '%s\\0' "$@"; for each in "$@"; do case $each in @*) printf 'body=%s\\0' "$(cat "\${each#@}")";; esac; done; } >>'${file('noted')}'
printf 'begin\\n' >>'${file('order')}'
sleep ${seconds}
printf 'end\\n' >>'${file('order')}'
printf '200 after 0.1 s'
`
  writeFileSync(file('curl'), curl)
  chmodSync(file('curl'), 0o755)
  writeFileSync(file('script'), text)
  const env = { PATH: `${directory}:${process.env.PATH}`, HOME: directory, ...environment }
  const stdout = execFileSync('bash', [file('script')], { env, cwd: directory }).toString()
  const read = (name: string) => (existsSync(file(name)) ? readFileSync(file(name)).toString() : '')
  return { stdout, directory, notes: read('noted').split('\0'), order: read('order').trim().split('\n') }
}

const keys = { TURNPIKE_KEY: 'one', TURNPIKE_OTHER_KEY: 'two' }

test('the script is readable: what is demanded, what was seen, each request at its time', async () => {
  await expect(script(replayed)).toMatchFileSnapshot('../../golden/repro.sh')
})

test('requests that overlapped overlap again, and the others wait', () => {
  const { order, stdout } = noted(script(replayed), keys, 0.8)
  expect(order).toEqual(['begin', 'begin', 'end', 'end', 'begin', 'end'])
  expect(stdout.match(/^request \d+/gm)).toEqual(['request 1', 'request 2', 'request 4'])
  expect(stdout).toContain('(Turnpike saw: answered 400; THIS DECIDES)')
})

test('gaps between requests are kept', () => {
  const startedMs = performance.now()
  noted(script([request(1), request(2, { sentMs: 2300 })]), keys)
  expect(performance.now() - startedMs).toBeGreaterThan(1200)
})

test('each caller has a variable, and the caller whose request decides has the first', () => {
  const { notes } = noted(script(replayed), keys)
  const authorizations = notes.filter(each => each.startsWith('authorization'))
  // The script sends two of them at once.
  expect(authorizations.toSorted()).toEqual([
    'authorization: Bearer one',
    'authorization: Bearer one',
    'authorization: Bearer two',
  ])
  expect(notes.filter(each => each.startsWith('idempotency-key'))).toHaveLength(2)
  expect(new Set(notes.filter(each => each.startsWith('idempotency-key')))).toHaveLength(1)
})

test('a new run of the script has new idempotency keys, unless TURNPIKE_RUN is set', () => {
  const keyOf = (environment: Readonly<Record<string, string>>) =>
    noted(script(replayed), environment).notes.find(each => each.startsWith('idempotency-key'))
  expect(keyOf(keys)).not.toBe(keyOf(keys))
  expect(keyOf({ ...keys, TURNPIKE_RUN: 'mine' })).toBe('idempotency-key: mine-1')
})

test('without a key, the script says which one is missing, and sends nothing', () => {
  expect(() => noted(script(replayed), { TURNPIKE_KEY: 'one' })).toThrow(/Set TURNPIKE_OTHER_KEY to an API key/)
})

test('where keys are optional, a variable without a value means that there is none', () => {
  const optional = {
    ...judged,
    contract: { ...documentedContract, auth: { ...documentedContract.auth, required: false } },
  }
  const sent = (environment: Readonly<Record<string, string>>) =>
    noted(script([request(1)], {}, optional), environment).notes.filter(each => each.startsWith('authorization'))
  expect(sent({})).toEqual([])
  expect(sent({ TURNPIKE_KEY: 'a b' })).toEqual(['authorization: Bearer a b'])
})

test('a script sends the key as the profile says', () => {
  const auth = { ...documentedContract.auth, header: 'api-key', scheme: null }
  const { notes } = noted(script([request(1)], {}, { ...judged, contract: { ...documentedContract, auth } }), keys)
  expect(notes).toContain('api-key: one')
  expect(notes.filter(each => each.startsWith('authorization'))).toEqual([])
})

test('a script needs the secret headers and parameters of the profile', () => {
  const requestHeaders = { 'X-Tenant': 'acme', 'x-gateway': { env: 'TURNPIKE_HEADER_GATEWAY' } }
  const requestQuery = { code: { env: 'TURNPIKE_QUERY_CODE' }, version: "it's" }
  const contract = { ...documentedContract, requestHeaders, requestQuery }
  const text = script([request(1)], {}, { ...judged, contract })
  const withHeader = { ...keys, TURNPIKE_HEADER_GATEWAY: 'a b' }
  expect(() => noted(text, keys)).toThrow(/Set TURNPIKE_HEADER_GATEWAY to the value of a header/)
  expect(() => noted(text, withHeader)).toThrow(/Set TURNPIKE_QUERY_CODE to the value of a parameter/)
  const { notes } = noted(text, { ...withHeader, TURNPIKE_QUERY_CODE: 'a%2Bb' })
  expect(notes.find(each => each.startsWith('http'))).toMatch(/\?code=a%2Bb&version=it%27s$/)
  expect(notes).toEqual(expect.arrayContaining(['x-tenant: acme', 'x-gateway: a b', 'authorization: Bearer one']))
})

test('where keys are optional, a run that sent one needs one again', () => {
  const optional = {
    ...judged,
    contract: { ...documentedContract, auth: { ...documentedContract.auth, required: false } },
  }
  const headers = { authorization: 'Bearer $TURNPIKE_KEY' }
  const [evidence] = failingReport.findings.flatMap(({ examples }) => examples.flatMap(each => each.evidence))
  if (!evidence?.request) throw new Error('no evidence')
  const withKey = { ...example, evidence: [{ ...evidence, request: { ...evidence.request, headers } }] }
  const text = script([request(1)], { example: withKey }, optional)
  expect(() => noted(text, {})).toThrow(/Set TURNPIKE_KEY to an API key/)
  expect(noted(text, { TURNPIKE_KEY: 'a' }).notes).toContain('authorization: Bearer a')
  expect(text).not.toContain('without it, no key is sent')
})

test('the target comes from TURNPIKE_TARGET, or else from the run', () => {
  const urls = (environment: Readonly<Record<string, string>>) =>
    noted(script([request(1)]), environment).notes.filter(each => each.startsWith('http'))
  expect(urls(keys)).toEqual([`http://127.0.0.1:8402/api/v1${path}`])
  expect(urls({ ...keys, TURNPIKE_TARGET: 'https://x.test/v1' })).toEqual([`https://x.test/v1${path}`])
})

const hostileTexts = [
  "'; touch pwned; echo '",
  '$(touch pwned)',
  '`touch pwned`',
  '"; touch pwned; "',
  '\ntouch pwned\n',
  '\r\ntouch pwned #',
  '\\\ntouch pwned',
  '\'"$(touch pwned)`touch pwned`\n#\u2028touch pwned',
  `\${IFS}touch\${IFS}pwned`,
  '!! && touch pwned',
  'EOF\ntouch pwned\nEOF',
] as const

test.each(hostileTexts)('hostile text runs nothing: %j', text => {
  const [evidence] = failingReport.findings[0]?.examples[0]?.evidence ?? []
  if (evidence === undefined) throw new Error('the fixture has evidence')
  const calls: Readonly<Record<string, Call>> = {
    ...judged.plan.calls,
    resource: {
      kind: 'resource',
      resource: 'embeddings',
      body: { input: text },
      page: null,
      limit: null,
      draws: 'embedding',
    },
  }
  const hostile = script(
    [
      request(1, { call: 'resource', caller: text, outcome: text, decides: true }),
      request(2, { caller: `other ${text}`, stage: text }),
    ],
    {
      name: text,
      text,
      example: { ...example, message: text, evidence: [{ ...evidence, headers: { [text]: 'x', [`x-${text}`]: 'y' } }] },
      run: { ...repeated.run, target: `http://x/${text}`, id: text, scenario: text },
    },
    { ...judged, plan: { ...judged.plan, calls } },
  )
  const { directory, notes } = noted(hostile, keys)
  expect(existsSync(join(directory, 'pwned'))).toBe(false)
  expect(notes).toContain(`http://x/${text}${path}`)
  expect(notes.some(each => each.startsWith('body=') && JSON.parse(each.slice(5)).input === text)).toBe(true)
})

test('a body that is longer than a command line arrives whole', () => {
  const input = "it's $HOME ".repeat(30_000)
  const calls: Readonly<Record<string, Call>> = {
    resource: {
      kind: 'resource',
      resource: 'embeddings',
      body: { input },
      page: null,
      limit: null,
      draws: 'embedding',
    },
  }
  const long = script([request(1, { call: 'resource' })], {}, { ...judged, plan: { ...judged.plan, calls } })
  const body = noted(long, keys).notes.find(each => each.startsWith('body='))
  expect(JSON.parse(body?.slice(5) ?? '').input).toBe(input)
})

test('the script says what is missing, what was not recorded, and what was added', () => {
  const requests = [request(1, { outcome: null, endMs: null }), request(2, { decides: true })]
  const text = reproScript(repeated, { requests, missing: [7, 8], omitted: 12, added: 1 }, judged).replaceAll(
    '\n# ',
    ' ',
  )
  expect(text).toContain('NOT RECORDED: the run kept no record of request 1.')
  expect(text).toContain('INCOMPLETE: the run kept no record of requests 7, 8, and the plan does not decide them.')
  expect(text).toContain('INCOMPLETE: the report does not list 12 earlier requests that led to it.')
  expect(text).toContain('The finding does not cite 1 of them.')
})

test('a script says that the embedded reference service has ended', () => {
  expect(script([request(1)], {}, { ...judged, plan: { ...judged.plan, target: null } })).toContain('turnpike service')
})

const { plan: withWallets } = await virtualRun({
  scenario: `name: wallets
callers: { count: 1, wallets: 2, chain: [base, solana] }
calls:
  single: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
  credit: { kind: wallet-balance }
  pay: { kind: top-up, pay: true, usd: 5, duplicates: 1 }
stages:
  - { name: list, duration: 2s, shape: sequence, calls: [single] }
`,
})
const ofWallets: JudgedPlan = { ...judged, plan: { ...withWallets, target: 'http://127.0.0.1:8402/api/v1' } }

test('requests of wallets are signed anew, and their payments come from a variable', () => {
  const text = script(
    [
      request(0, { call: 'single', caller: 'c0' }),
      request(1, { call: 'single', caller: 'w1' }),
      request(2, { call: 'credit', caller: 'w0' }),
      request(3, { call: 'pay', caller: 'w0', step: 'offer' }),
      request(4, { call: 'pay', caller: 'w0', step: 'payment', decides: true }),
      request(5, { call: 'pay', caller: 'w0', step: 'payment' }),
    ],
    {},
    ofWallets,
  )
  const comment = text.slice(0, text.indexOf('\n\n')).replaceAll('\n#    ', '')
  expect(comment).toContain('TURNPIKE_KEY: the API key of caller c0\n')
  expect(comment).toContain('TURNPIKE_WALLET_KEY: the private key of wallet w0')
  expect(comment).toContain('TURNPIKE_OTHER_WALLET_KEY: the private key of wallet w1')
  expect(comment).toContain('TURNPIKE_PAYMENT_SIGNATURE: a payment of wallet w0, signed')
  expect(text).toContain("echo 'Set TURNPIKE_WALLET_KEY to a private key.")
  expect(text).toContain("echo 'Set TURNPIKE_PAYMENT_SIGNATURE to a signed payment.")
  const sent = text.split('\n').filter(line => line.startsWith('send '))
  expect(sent[0]).toContain(`"$TURNPIKE_KEY"`)
  expect(sent[1]).toContain('-H @"$work/1.sign-in"')
  expect(sent[2]).toMatch(/^send 2 '\/x402\/balance\/'"\$\(cat "\$work\/2\.address"\)" .*-H @"\$work\/2\.sign-in"/)
  expect(sent[3]).not.toMatch(/sign-in|PAYMENT/)
  for (const line of sent.slice(4)) expect(line).toContain(`-H 'PAYMENT-SIGNATURE: '"$TURNPIKE_PAYMENT_SIGNATURE"`)
  expect(text).not.toContain('INCOMPLETE')
  const long = [request(1, { call: 'single', caller: 'w1' }), request(2, { call: 'single', sentMs: 400_000 })]
  expect(script(long, {}, ofWallets)).toContain('INCOMPLETE: the script signs in before its first request')
  expect(text).toContain('"rows":[{"id":1,"variable":"TURNPIKE_OTHER_WALLET_KEY","family":"solana"')
})

test('names the trace ids of the run as comments, also if a report was edited', () => {
  const evidence = failingReport.findings.flatMap(({ examples }) => examples.flatMap(each => each.evidence)).slice(0, 1)
  const traced = (traceId: string | null) =>
    script([request(2)], { example: { ...example, evidence: evidence.map(each => ({ ...each, id: 2, traceId })) } })
  expect(traced('a71b6ff506379bf020ed6c4f5991452a')).toContain('\n#   request 2: a71b6ff506379bf020ed6c4f5991452a\n')
  expect(traced(null)).not.toContain('race id')
  expect(traced('x\nrm -r /').split('\n')).not.toContain('rm -r /')
})
