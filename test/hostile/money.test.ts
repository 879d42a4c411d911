import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { todays } from '../support/nightly.ts'
import { type Ended, freshDirectory, turnpike, turnpikeInTurn } from '../support/turnpike.ts'

/** What a target does with money. Everything else of it is as plain as possible. */
type Till = {
  /** What a request takes from the balance of its account. */
  readonly takes?: (request: number, path: string) => number
  /** The cost header of an RPC response. */
  readonly claims?: (request: number) => string | null
  readonly showsBalance?: boolean
  readonly headers?: Readonly<Record<string, string>>
  readonly status?: number
  /** Never responds to RPC requests. */
  readonly isSilent?: boolean
}

type Target = {
  readonly port: number
  readonly address: string
  /** The RPC requests, all requests, the money that it took, and the keys that it saw. */
  readonly seen: { rpc: number; all: number; taken: number; readonly keys: Set<string>; readonly lines: string[] }
}

const servers: Server[] = []
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

async function startTarget(till: Till = {}): Promise<Target> {
  const { takes = () => 0, claims = () => '0.0000125', showsBalance = true } = till
  const seen: Target['seen'] = { rpc: 0, all: 0, taken: 0, keys: new Set(), lines: [] }
  const balances = new Map<string, number>()
  const respond = (request: IncomingMessage, response: ServerResponse, body: string) => {
    const path = request.url ?? ''
    const key = request.headers.authorization ?? ''
    const isRpc = request.method === 'POST'
    seen.all++
    seen.keys.add(key)
    seen.lines.push(`${request.method} ${path}`)
    if (isRpc) seen.rpc++
    const before = balances.get(key) ?? 1_000
    const taken = takes(seen.rpc, path)
    seen.taken += taken
    balances.set(key, before - taken)
    if (isRpc && till.isSilent === true) return
    const cost = isRpc ? claims(seen.rpc) : null
    const id = isRpc ? (JSON.parse(body).id ?? 1) : 1
    response.writeHead(till.status ?? 200, {
      'content-type': 'application/json',
      ...(showsBalance && { 'x-service-balance-usd': before.toFixed(8), 'x-service-balance-diem': '0' }),
      ...(cost !== null && { 'x-service-rpc-cost-usd': cost }),
      ...(isRpc && { 'x-service-rpc-credits': '20' }),
      ...till.headers,
    })
    response.end(isRpc ? JSON.stringify({ jsonrpc: '2.0', id, result: '0x1' }) : '{}')
  }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', bytes => {
      body += bytes
    })
    request.on('end', () => respond(request, response, body))
  })
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, '0.0.0.0', resolve))
  const { port } = server.address() as AddressInfo
  return { port, address: `http://127.0.0.1:${port}/api/v1`, seen }
}

const directory = freshDirectory()
type Changes = {
  readonly name?: string
  readonly head?: string
  readonly calls?: string
  readonly stage?: string
  readonly callers?: string
  readonly perSecond?: number
}
/** 20 RPC calls of two callers in two seconds; each costs $0.0000125, so $0.00025 together. */
function scenario({ name = 'money', head = '', callers = 'count: 2', calls, stage, perSecond = 10 }: Changes = {}) {
  const file = join(directory, `${files++}-${name}.yaml`)
  const load = stage ?? `duration: 2s, shape: constant, rate: ${perSecond}/s, exceed-tier: true, mix: { rpc: 1 }`
  writeFileSync(
    file,
    `name: ${name}
${head}
callers: { ${callers} }
calls: { ${calls ?? 'rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_call: 1 } }'} }
stages: [{ name: s, ${load} }]
bounds: { drain: 1s, timeouts: { rpc: { headers: 500ms, idle: 500ms, total: 500ms } } }
`,
  )
  return file
}

let files = 0
let outs = 0
const runArguments = (args: readonly string[]): readonly string[] => [
  ...['run', ...args, '--out', join(directory, `out-${outs++}`), '--no-progress', '--no-warm-up'],
]
const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  turnpike(runArguments(args), environment)

type Mistaken = { readonly title: string; readonly args: readonly string[]; readonly words: string }
const plain = scenario()
const listening = { target: null as Target | null }

const flags: readonly Mistaken[] = [
  { title: 'two budgets', args: ['--budget-usd', '1', '--budget-usd', '2'], words: '--budget-usd: got the flag twice' },
  { title: 'two equal budgets', args: ['--budget-usd=1', '--budget-usd=1'], words: '--budget-usd: got the flag twice' },
  { title: 'two targets', args: ['--target', 'http://127.0.0.1:1'], words: '--target: got the flag twice' },
  { title: 'two seeds', args: ['--seed', '1', '--seed', '2'], words: '--seed: got the flag twice' },
  { title: 'two worker counts', args: ['--workers=1', '--workers=2'], words: '--workers: got the flag twice' },
  { title: 'quiet and not quiet', args: ['--quiet', '--no-quiet'], words: '--quiet: got the flag twice' },
  { title: 'no amount', args: ['--budget-usd'], words: '--budget-usd: got nothing' },
  { title: 'an empty amount', args: ['--budget-usd='], words: '--budget-usd: got ""' },
  { title: 'a blank amount', args: ['--budget-usd', ' '], words: '--budget-usd: got " "' },
  { title: 'a flag as amount', args: ['--budget-usd', '--quiet'], words: '--budget-usd: got nothing' },
  { title: 'a negative amount', args: ['--budget-usd', '-1'], words: '--budget-usd: got "-1", expected an amount' },
  { title: 'nothing to spend', args: ['--budget-usd', '0'], words: '--budget-usd: got "0", expected an amount' },
  { title: 'nothing in many digits', args: ['--budget-usd', '0.000'], words: '--budget-usd: got "0.000"' },
  { title: 'an exponent', args: ['--budget-usd', '1e3'], words: '--budget-usd: got "1e3"' },
  { title: 'a huge exponent', args: ['--budget-usd', '1e300'], words: '--budget-usd: got "1e300"' },
  { title: 'more than a million', args: ['--budget-usd', '1000000.01'], words: 'of at most 1000000' },
  { title: 'more than 64 bits', args: ['--budget-usd', '9'.repeat(40)], words: 'of at most 1000000' },
  { title: 'a hexadecimal amount', args: ['--budget-usd', '0x10'], words: '--budget-usd: got "0x10"' },
  { title: 'no budget by negation', args: ['--no-budget-usd'], words: 'did you mean "--budget-usd"?' },
  { title: 'an abbreviation', args: ['--budget', '1'], words: 'got "--budget"' },
  { title: 'camel case', args: ['--budgetUsd', '1'], words: 'did you mean "--budget-usd"?' },
  { title: 'a version with a value', args: ['--version=1'], words: 'got "--version"' },
  { title: 'arguments after --', args: ['--', '--budget-usd', '1'], words: 'got "--"' },
  { title: 'a seed beyond numbers', args: ['--seed', '1e400'], words: '--seed: got "1e400"' },
  { title: 'half a seed', args: ['--seed', '0.5'], words: '--seed: got 0.5' },
  { title: 'half a worker', args: ['--workers', '0.5'], words: '--workers: got 0.5' },
  { title: 'too many workers', args: ['--workers', '100000'], words: '--workers: got 100000' },
  { title: 'no worker', args: ['--workers', '0'], words: '--workers: got 0' },
  { title: 'an empty directory', args: ['--out='], words: '--out: got "' },
  { title: 'too small a budget', args: ['--budget-usd', '0.00024'], words: 'budget: got $0.00024, expected at least' },
  {
    title: 'too small a budget for two scenarios',
    args: [plain, '--budget-usd', '0.0004'],
    words: '--budget-usd: got $0.0004 for 2 scenarios, expected at least $0.0005',
  },
  {
    title: 'a second scenario beyond its own budget',
    args: [scenario({ name: 'own', head: 'budget: { usd: 0.0002 }' }), '--budget-usd', '1'],
    words: 'budget: got $0.0002, expected at least $0.00025',
  },
]

describe('a mistake in a flag', () => {
  let ended: readonly Ended[] = []
  beforeAll(async () => {
    const target = await startTarget()
    listening.target = target
    const lines = flags.map(({ args }) => {
      const withOut = args.some(arg => arg.startsWith('--out')) ? [] : ['--out', join(directory, 'never')]
      return { args: ['run', plain, ...args, '--target', target.address, ...withOut] }
    })
    ended = await turnpikeInTurn(lines)
  })

  test.each(flags.map((mistaken, index) => ({ ...mistaken, index })))('is refused: $title', ({ index, words }) => {
    const { code, stderr, stdout } = ended[index] ?? { code: null, stderr: '', stdout: '' }
    expect(stderr).toContain(words)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })

  test('sends nothing', () => {
    expect(listening.target?.seen.all).toBe(0)
  })
})

const files2 = join(directory, 'secret')
mkdirSync(files2)
writeFileSync(join(files2, 'id_rsa'), 'one-secret\ntwo-secret\n')
const remote = (target: string, more: Changes = {}) =>
  scenario({ ...more, head: `target: ${target}\nbudget: { usd: 1 }` })

describe('keys and scenarios of others', () => {
  const cases = async (address: string, port: number) => {
    const keysFile = `count: 2, keys-file: ${join(files2, 'id_rsa')}`
    const any = `http://0.0.0.0:${port}/api/v1`
    return [
      {
        title: 'a target of the file',
        args: [remote('https://evil.example/api/v1')],
        words: 'add --target https://evil.example',
      },
      { title: 'a local name of another', args: [remote('http://localhost.evil.example/x')], words: 'to allow it' },
      { title: 'an address of all interfaces', args: [remote(any)], words: `add --target ${any}` },
      { title: 'a keys file for it', args: [remote(any, { callers: keysFile })], words: 'to allow it' },
      { title: 'a target in digits', args: [remote('http://167772161/x')], words: 'got "http://10.0.0.1/x"' },
      { title: 'a mapped address', args: [remote(`"http://[::ffff:10.0.0.1]/x"`)], words: 'to allow it' },
      { title: 'the second of two', args: [plain, remote(any)], words: 'to allow it' },
      {
        title: 'unlimited money in a file',
        args: [scenario({ head: 'budget: { usd: unlimited }' })],
        words: 'got "unlimited"',
      },
      {
        title: 'absurd money in a file',
        args: [scenario({ head: 'budget: { usd: 1000001 }' })],
        words: 'of at most 1000000',
      },
      { title: 'negative money in a file', args: [scenario({ head: 'budget: { usd: -1 }' })], words: 'got -1' },
      { title: 'endless money in a file', args: [scenario({ head: 'budget: { usd: .inf }' })], words: 'too large' },
      {
        title: 'a line break in a target',
        args: [plain, '--target', `${address}\r\nx-evil: 1`],
        words: '--target: got',
      },
      { title: 'a line break in a header', args: [header('"gzip\\r\\nx-evil: 1"')], words: 'printable ASCII' },
      { title: 'a zero in a header', args: [header('"gzip\\0"')], words: 'printable ASCII' },
      { title: 'other letters in a header', args: [header('"gzіp"')], words: 'printable ASCII' },
      {
        title: 'a rate beyond reason',
        args: [scenario({ perSecond: 1_000_000_000 })],
        words: 'a rate of at most 100000/s',
      },
      {
        title: 'a share beyond reason',
        args: [stage('duration: 2s, shape: constant, rate: 900000000% of tier')],
        words: '10000% of tier',
      },
      {
        title: 'a duration beyond reason',
        args: [stage('duration: 1000000h, shape: constant, rate: 1/s')],
        words: 'at most 168h',
      },
      { title: 'callers beyond reason', args: [scenario({ callers: 'count: 10000000' })], words: 'from 0 to 10000' },
      {
        title: 'bursts without pause',
        args: [stage('duration: 168h, shape: burst, size: 1000000, every: 1ms')],
        words: 'got 1ms, expected at least 10ms',
      },
    ]
  }
  const header = (value: string) =>
    scenario({
      calls: `rpc: { kind: chat, model-tier: S, prompt-tokens: 5, max-completion-tokens: 5, accept-encoding: ${value} }`,
    })
  const stage = (load: string) => scenario({ stage: `${load}, exceed-tier: true, mix: { rpc: 1 }` })

  test('are refused before anything is sent', async () => {
    const { address, port, seen } = await startTarget()
    const table = await cases(address, port)
    const environment = { TURNPIKE_KEYS: 'first-key,second-key' }
    const ended = await turnpikeInTurn(
      table.map(({ args }) => ({ args: runArguments(args) })),
      environment,
    )
    for (const [index, { title, words }] of table.entries()) {
      const { code, stderr } = ended[index] ?? { code: null, stderr: '' }
      expect.soft(stderr, title).toContain(words)
      expect.soft([title, code]).toEqual([title, 2])
      expect.soft(stderr, title).not.toContain('secret\n')
    }
    expect(seen.all).toBe(0)
  })

  test.each([
    ['a character outside ASCII', 'oné,two'],
    ['a control character', 'one\u0001,two'],
  ])('%s in a key is refused', async (what, keys) => {
    const { address, seen } = await startTarget()
    const { code, stderr } = await run([plain, '--target', address], { TURNPIKE_KEYS: keys })
    expect([code, seen.all]).toEqual([2, 0])
    expect(stderr).toContain(`TURNPIKE_KEYS: got ${what} in key 1`)
    expect(stderr).not.toContain('oné')
  })
})

async function runAgainst(till: Till, args: readonly string[], changes: Changes = {}) {
  const target = await startTarget(till)
  const environment = { TURNPIKE_KEYS: 'first-key,second-key' }
  const { code, stdout, stderr } = await run(
    [scenario(changes), '--target', target.address, '--format', 'json', ...args],
    environment,
  )
  const report = stdout.startsWith('{') ? JSON.parse(stdout) : null
  return { code, stderr, report, seen: target.seen }
}

describe.concurrent('a target that takes more than the maximum', () => {
  const budget = ['--budget-usd', '0.0003']

  const takers: readonly [string, Till][] = [
    ['and claims it', { takes: () => 0.01, claims: () => '0.01' }],
    ['and claims it, without a balance', { takes: () => 0.01, claims: () => '0.01', showsBalance: false }],
    ['and claims nothing', { takes: () => 0.01, claims: () => null }],
    ['and claims an honest cost', { takes: () => 0.01 }],
    ['and claims a negative cost', { takes: () => 0.01, claims: () => '-0.01' }],
    ['and claims a negative fortune', { takes: () => 0.01, claims: () => '-1e300' }],
    ['and claims a text', { takes: () => 0.01, claims: () => 'free' }],
    [
      'and claims that all are replays',
      { takes: () => 0.01, claims: () => '0.01', headers: { 'idempotent-replayed': 'true' } },
    ],
    ['and refuses all requests', { takes: () => 0.01, claims: () => null, status: 400 }],
    ['for every balance check', { takes: (_, path) => (path.includes('rate_limits') ? 0.01 : 0) }],
  ]

  test.each(todays(takers, 2))('%s ends the run', async (_, till) => {
    const { code, report, seen } = await runAgainst(till, budget)
    expect(report?.run.ended).toBe('budget-reached')
    expect(code).not.toBe(0)
    // A balance shows a request only to the next one of its account, and two are in flight at most.
    expect(seen.rpc).toBeLessThanOrEqual(6)
    expect(seen.taken).toBeLessThanOrEqual(0.08)
  })
})

describe.concurrent('a target within its budget', () => {
  const tills: readonly [string, Till, number][] = [
    ['takes what it claims', { takes: (_, path) => (path.endsWith('-mainnet') ? 0.0000125 : 0) }, 0.00025],
    ['claims nothing and shows no balance', { claims: () => null, showsBalance: false }, 0],
    ['claims an absurd cost and takes nothing', { claims: () => '1e300' }, 0],
    ['never responds', { isSilent: true }, 0],
  ]

  test.each(todays(tills, 2))('that %s is measured to the end', async (_, till, taken) => {
    const { report, seen } = await runAgainst(till, ['--budget-usd', '0.00025'])
    expect(report?.run.ended).toBe('complete')
    expect(seen.rpc).toBe(20)
    expect(seen.taken).toBeCloseTo(taken, 10)
  })

  test('a negative cost is a violation', async () => {
    const { code, report } = await runAgainst({ claims: () => '-0.5' }, ['--budget-usd', '0.00025'])
    expect(code).toBe(1)
    expect(JSON.stringify(report?.findings)).toContain('rpc.cost.header')
    expect(Number(report?.billing.claimedUsd)).toBe(0)
  })

  test('two scenarios share one budget: the second gets what the first left', async () => {
    const target = await startTarget({ takes: (_, path) => (path.endsWith('-mainnet') ? 0.0000125 : 0) })
    // The first claims more than its calls cost, which leaves too little for the second.
    const greedy = await startTarget({ takes: request => (request === 0 ? 0 : 0.0000125), claims: () => '0.00002' })
    const two = [scenario({ name: 'first' }), scenario({ name: 'second' })]
    const [honest, other] = await Promise.all([
      run([...two, '--target', target.address, '--budget-usd', '0.0005'], { TURNPIKE_KEYS: 'a,b' }),
      run([...two, '--target', greedy.address, '--budget-usd', '0.0005'], { TURNPIKE_KEYS: 'a,b' }),
    ])
    expect(honest.stderr).not.toContain('budget: got')
    expect(target.seen.rpc).toBe(40)
    expect(other.code).toBe(2)
    expect(other.stderr).toMatch(/budget: got \$0\.0000\d+/)
    expect(greedy.seen.rpc).toBe(20)
  })

  test('unlimited is a word of the command line, and the report repeats it', async () => {
    const { report, stderr, seen } = await runAgainst({ takes: () => 0.01 }, ['--budget-usd', 'unlimited'])
    expect(report?.run.ended).toBe('complete')
    expect(report?.plan).toMatchObject({ budgetUsd: null, isBudgetUnlimited: true })
    expect(stderr).toMatch(/budget +unlimited/)
    expect(seen.rpc).toBe(20)
  })
})

describe.concurrent('keys', () => {
  test('never follow a redirect', async () => {
    const thief = await startTarget()
    const location = `http://127.0.0.1:${thief.port}/api/v1/steal`
    for (const status of [302, 308]) {
      const { seen } = await runAgainst({ status, headers: { location } }, ['--budget-usd', '0.00025'])
      expect(seen.keys).toContain('Bearer first-key')
    }
    expect(thief.seen.all).toBe(0)
  })

  test('go to a target that the command line names, with a warning if they are readable on the way', async () => {
    const target = await startTarget()
    const address = `http://0.0.0.0:${target.port}/api/v1`
    const { stderr } = await run([remote(address), '--target', address], { TURNPIKE_KEYS: 'a-key,b-key' })
    expect(stderr).toContain(`Keys are sent to 0.0.0.0:${target.port} unencrypted`)
    expect(target.seen.keys).toContain('Bearer a-key')
  })

  test('go to a target of the file that is on this machine', async () => {
    const target = await startTarget()
    await run([remote(target.address)], { TURNPIKE_KEYS: 'a-key,b-key' })
    expect(target.seen.keys).toContain('Bearer b-key')
  })
})
