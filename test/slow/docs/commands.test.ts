import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createRelay } from 'node:net'
import { networkInterfaces } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { todays } from '../../support/nightly.ts'
import { recordedRun } from '../../support/recorded-run.ts'
import { freshDirectory, type Started, startTurnpike } from '../../support/turnpike.ts'
import { startGateway } from '../gateways/express-gateway.ts'
import { pages, stepsOf } from './page.ts'
import { namesTarget, type Outcome, tellStory, type World } from './story.ts'

/** Of callers with the usual limits, and of partners. */
const keys = Array.from({ length: 16 }, (_, index) => `ref_${index < 12 ? 'default' : 'partner'}_reader${index}`)
const walletKeys = [1, 2, 3].map(digit => `0x${String(digit).repeat(64)}`)

/** Shipped scenarios are short, search nothing, and judge no times. Other tests run them as they are. */
function shortened(text: string): string {
  const { stages, thresholds, ...rest } = parse(text, { merge: true })
  const atMost = (duration: string, ms: number) =>
    /^\d+s$/.test(duration) && parseInt(duration, 10) * 1_000 <= ms ? duration : `${ms / 1_000}s`
  return JSON.stringify({
    ...rest,
    stages: stages
      .filter(({ shape }: { readonly shape: string }) => shape !== 'capacity')
      .map((stage: { readonly duration: string }) => ({ ...stage, duration: atMost(stage.duration, 3_000) })),
    thresholds: thresholds.filter(({ expect: each }: { readonly expect: string }) => !/^(p\(|capacity)/.test(each)),
  })
}

/** The package as an installation has it. */
function packageCopy(): string {
  const copy = join(freshDirectory(), 'turnpike')
  for (const name of ['dist', 'scenarios', 'package.json']) cpSync(name, join(copy, name), { recursive: true })
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))
  for (const name of readdirSync('scenarios').filter(each => each.endsWith('.yaml')))
    writeFileSync(join(copy, 'scenarios', name), shortened(readFileSync(join('scenarios', name), 'utf8')))
  return join(copy, 'dist/main.js')
}

/** A scenario of the reader's own. */
const scenario = `name: mine
callers: { count: 4 }
calls:
  chat: { kind: chat, stream: true, prompt-tokens: 20, max-completion-tokens: 8 }
stages:
  - { name: steady, duration: 2s, shape: constant, rate: 4/s, mix: { chat: 1 } }
budget: { usd: 0.10 }
thresholds:
  - { expect: violations == 0, why: The service documents each rule. }
`
/** One that gives a finding of two causes. */
const ofTwoCauses = scenario.replace('mix: { chat: 1 }', 'mix: { evm: 1, solana: 1 }').replace(
  /^ {2}chat:.*$/m,
  `  evm: { kind: rpc-batch, network-family: evm, methods: { eth_call: 1 }, size: 3, failing-items: 1 }
  solana: { kind: rpc-batch, network-family: solana, methods: { getSlot: 1 }, size: 3, failing-items: 1 }`,
)

const arrivals = Array.from({ length: 40 }, (_, index) =>
  JSON.stringify({ timestamp: index * 50, input_length: 30, output_length: 4, hash_ids: [index] }),
)

const har = JSON.stringify({
  log: {
    version: '1.2',
    entries: [0, 1, 2].map(second => ({
      startedDateTime: `2026-01-01T00:00:0${second}.000Z`,
      request: {
        method: 'POST',
        url: 'https://api.example.com/v1/chat/completions',
        headers: [],
        postData: { text: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello there' }] }) },
      },
      response: {
        status: 200,
        headers: [],
        content: { text: JSON.stringify({ usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 } }) },
      },
    })),
  },
})

/** The address of this machine by which it is another machine, if it has one. */
const otherAddress =
  Object.values(networkInterfaces())
    .flat()
    .find(each => each?.family === 'IPv4' && !each.internal)?.address ?? '127.0.0.1'

const ended: (() => void)[] = []
const services: Started[] = []
let shared: Omit<World, 'targetAt' | 'isHonest'>
let recorded: Readonly<Record<keyof typeof worlds, string>>

beforeAll(async () => {
  const short = packageCopy()
  const runs = freshDirectory()
  const shortNightly = join(dirname(dirname(short)), 'scenarios/nightly.yaml')
  for (const each of [1, 2, 3, 4]) await recordedRun(join(runs, `nightly-${each}`), { scenario: shortNightly })
  await recordedRun(join(runs, 'nightly'), { scenario: 'scenarios/nightly.yaml' })
  const sink = await listening(createServer((request, response) => request.resume().on('end', () => response.end())))
  shared = {
    ...{ keys, walletKeys, sink: `http://127.0.0.1:${sink}`, programs: { full: resolve('dist/main.js'), short } },
    furnish: folder => {
      cpSync(runs, join(folder, 'runs'), { recursive: true })
      for (const name of ['my.yaml', 'my-scenario.yaml']) writeFileSync(join(folder, name), scenario)
      for (const name of ['my-service.yaml', 'my-server.yaml']) writeFileSync(join(folder, name), 'name: mine\n')
      writeFileSync(join(folder, 'mooncake_trace.jsonl'), arrivals.join('\n'))
      writeFileSync(join(folder, 'traffic.har'), har)
    },
  }
  const lying = await service(['--lie', 'failed-item-in-full', '--lie', 'solana-errors-in-full'])
  recorded = {
    'the reference service': await failedRun(ofTwoCauses, lying),
    'a gateway of somebody else': await failedRun(scenario, await gateway(false)),
  }
})

/** A run that fails, at a target that is there as long as the tests are. */
async function failedRun(text: string, target: string): Promise<string> {
  const folder = freshDirectory()
  writeFileSync(join(folder, 'mine.yaml'), text)
  const [file, out] = [join(folder, 'mine.yaml'), join(folder, 'run')]
  const started = startTurnpike(['run', file, '--target', target, '--out', out, '--budget-usd', 'unlimited', '--quiet'])
  expect(await started.ended).toMatchObject({ code: 1, stderr: '' })
  return out
}

afterAll(() => {
  for (const end of ended) end()
  for (const { child } of services) child.kill('SIGKILL')
})

/** The port. */
function listening(server: Server | ReturnType<typeof createRelay>, host = '127.0.0.1'): Promise<number> {
  ended.push(() => server.close())
  return new Promise(resolve => server.listen(0, host, () => resolve((server.address() as AddressInfo).port)))
}

/** The same server at an address that is not this machine, as the program sees it. */
async function elsewhere(url: string): Promise<string> {
  const { port, pathname } = new URL(url)
  const relay = createRelay(socket => {
    const onward = connect(Number(port), '127.0.0.1')
    socket.pipe(onward).pipe(socket)
    for (const each of [socket, onward]) each.on('error', () => each.destroy())
  })
  return `http://${otherAddress}:${await listening(relay, otherAddress)}${pathname}`
}

async function service(flags: readonly string[]): Promise<string> {
  const started = startTurnpike(['service', '--port', '0', ...flags])
  services.push(started)
  return started.said(/http:\S+\/api\/v1/)
}

async function gateway(isNode: boolean): Promise<string> {
  const { url, server } = await startGateway('draft-7')
  ended.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return isNode ? new URL('/', url).href : url
}

const kindOf = (address: string) =>
  /:8545/.test(address) ? 'node' : /:(8000|11434)\//.test(address) ? 'llm' : 'documented'
const flagsOf = {
  node: ['--profile', 'json-rpc-node'],
  llm: ['--profile', 'openai-compatible'],
  documented: [],
} as const

const worlds = {
  'the reference service': (address: string) => service(flagsOf[kindOf(address)]),
  'a gateway of somebody else': (address: string) => gateway(kindOf(address) === 'node'),
} as const

/** Each address of a page is a server of its own. */
function worldOf(name: keyof typeof worlds): World {
  const targets = new Map<string, Promise<string>>()
  return {
    ...shared,
    isHonest: name === 'the reference service',
    furnish: folder => {
      shared.furnish(folder)
      cpSync(recorded[name], join(folder, 'runs/recorded'), { recursive: true })
    },
    targetAt: address => {
      const target =
        targets.get(address) ?? worlds[name](address).then(url => (address.startsWith('https:') ? elsewhere(url) : url))
      targets.set(address, target)
      return target
    },
  }
}

const all: { readonly world: string; readonly outcomes: readonly Outcome[] }[] = []

test.concurrent('a page is accused of a file that it does not show, and of what no command prints', async () => {
  const text = '```sh\nnpx turnpike plan none.yaml\nnpx turnpike --version\n```\n\n```\nall is well\n```\n'
  const outcomes = await tellStory({ file: 'page.md', text, steps: stepsOf(text) }, worldOf('the reference service'))
  expect(outcomes.map(({ place, wrong }) => [place, wrong])).toEqual([
    ['page.md:2', expect.stringContaining('plan ended with 2, expected 0: none.yaml: got no such file')],
    ['page.md:3', undefined],
    ['page.md:6', 'no command above it prints this: all is well\n'],
  ])
})

describe.concurrent.each(Object.keys(worlds) as (keyof typeof worlds)[])('with %s', world => {
  // What needs no target has been run with the first one.
  const chosen = todays(pages, 5).filter(page => world === 'the reference service' || namesTarget(page))
  test.each(chosen.map(page => [page.file, page] as const))('%s', async (_, page) => {
    const outcomes = await tellStory(page, worldOf(world))
    all.push({ world, outcomes })
    expect(
      outcomes.flatMap(({ place, command, wrong }) => (wrong === undefined ? [] : `${place} ${command}\n${wrong}`)),
    ).toEqual([])
  })
})

afterAll(() => {
  for (const { world } of all.filter(
    (each, index) => all.findIndex(({ world: name }) => name === each.world) === index,
  )) {
    const outcomes = all.filter(each => each.world === world).flatMap(each => each.outcomes)
    const skipped = outcomes.filter(each => each.skipped !== undefined)
    process.stdout.write(`With ${world}: ${outcomes.length - skipped.length} commands run, ${skipped.length} not\n`)
    for (const { place, command, skipped: why } of skipped)
      process.stdout.write(`  ${place} ${command.split('\n')[0]}: ${why}\n`)
  }
})
