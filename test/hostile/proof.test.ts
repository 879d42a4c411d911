import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Reply } from '../../src/service/message.ts'
import { todays } from '../support/nightly.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'
import {
  gateway,
  isBalanceCheck,
  isChat,
  isRpc,
  jsonTwist,
  only,
  refusal,
  replyTwist,
  startTarget,
  type Twist,
  whole,
} from './hostile-target.ts'

const folder = freshDirectory()

const calls = `
  chat: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 5, max-completion-tokens: 3 }
  streamed: { kind: chat, stream: true, model-tier: XS, prompt-tokens: 5, max-completion-tokens: 80 }
  rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
  batch: { kind: rpc-batch, network: ethereum-mainnet, methods: { eth_blockNumber: 1 }, size: 3 }
  replay: { kind: replay, of: rpc, duplicates: 1, conflict-ratio: 1 }
  models: { kind: models }`

const stage = (name: string, mix: string, shape = 'shape: constant, rate: 20/s, exceed-tier: true') =>
  `{ name: ${name}, duration: 800ms, ${shape}, mix: { ${mix} } }`

/** Writes a scenario, and returns its file. */
function scenario(
  name: string,
  stages: readonly string[],
  thresholds: readonly string[] = ['failed == 0'],
  more = '',
): string {
  const file = join(folder, `${name}.yaml`)
  const rules = thresholds.map(rule => `\n  - { expect: '${rule}', why: A test needs it. }`).join('')
  const listed = thresholds.length === 0 ? '' : `thresholds:${rules}\n`
  writeFileSync(
    file,
    `name: ${name}\ncallers: { count: 4 }\ncalls:${calls}\nstages:\n${stages.map(each => `  - ${each}\n`).join('')}${more}${listed}`,
  )
  return file
}

const both = scenario('both', [stage('steady', 'chat: 1, rpc: 1')])
const bare = scenario('bare', [stage('steady', 'chat: 1, rpc: 1')], [])
const chatOnly = scenario('chat-alone', [stage('steady', 'chat: 1')])
const streams = scenario('streams', [stage('steady', 'streamed: 1', 'shape: constant, rate: 5/s')])
const batches = scenario('batches', [stage('steady', 'batch: 1')])
const lists = scenario('lists', [stage('steady', 'models: 1')])
const replays = scenario('replays', [stage('steady', 'replay: 1', 'shape: constant, rate: 5/s, exceed-tier: true')])
const twoStages = scenario('two-stages', [stage('first', 'chat: 1, rpc: 1'), stage('second', 'chat: 1, rpc: 1')])
const expectsRefusal = scenario('expects-refusal', [stage('steady', 'chat: 1')], ['status(402) of chat in steady > 0'])
const saturated = scenario(
  'saturated',
  ['{ name: flood, duration: 1s, shape: saturate, connections: 2, max-calls: 40, mix: { rpc: 1 } }'],
  [],
)
const search = scenario(
  'search',
  [
    '{ name: search, duration: 12s, shape: capacity, from: 4/s, to: 6/s, good-ratio: 90%, trial: 500ms, cool-down: 100ms, mix: { rpc: 1 } }',
  ],
  [],
  'slo: { rpc: { latency: 1s } }\n',
)
const closed = scenario('closed', [stage('users', 'chat: 1, rpc: 1', 'shape: closed, users: 2, think: 50ms')])
const sequence = (name: string, ...probes: readonly string[]) =>
  scenario(name, [`{ name: probes, duration: 1s, shape: sequence, callers: 1, calls: [${probes.join(', ')}] }`], [])
const probes = sequence('probes', 'wrong-media-type', 'unlisted-method', 'batch-too-long')
const keys = sequence('keys', 'key-of-one-character', 'stateless-logs', 'media-type-with-charset')
const special = sequence('special', 'model-for-payers', 'empty-account')
const rare = scenario('rare', [stage('steady', 'chat: 1', 'shape: poisson, rate: 0.001/s')], [])
const crammed = scenario(
  'crammed',
  [stage('steady', 'chat: 1', 'shape: burst, size: 40, exceed-tier: true')],
  ['dropped <= 100%', 'failed <= 100%'],
  'bounds: { max-in-flight: 1 }\n',
)

const honest: Twist = (ask, request) => ask(request)
const isLoad = (request: Parameters<typeof isBalanceCheck>[0]) => !isBalanceCheck(request)
const empty: Twist = replyTwist(reply => whole(reply, 200, ''))
const withLocation = (reply: Reply): Reply => ({ ...reply, headers: { ...reply.headers, location: '/' } })
const afterwards = (twist: Twist) => only(isLoad, twist)
const forRpc = (twist: Twist) => only(isRpc, twist)
const forChat = (twist: Twist) => only(isChat, twist)

type Case = readonly [
  what: string,
  twist: Twist,
  scenario: string,
  code: number,
  says: string | RegExp,
  environment?: Readonly<Record<string, string>>,
]

const cases: readonly Case[] = [
  // The honest service passes, so no case ends as it does because of the scenario alone.
  ['an honest service', honest, both, 0, 'PASS'],
  ['an honest service without thresholds', honest, bare, 0, 'PASS'],
  ['an honest service, streams', honest, streams, 0, 'PASS'],
  ['an honest service, replays and conflicts', honest, replays, 0, 'PASS'],
  ['an honest service, saturated', honest, saturated, 0, 'PASS'],
  ['an honest service, users', honest, closed, 0, 'PASS'],
  ['an honest service, probes', honest, probes, 0, 'PASS'],
  ['an honest service, probes that it must accept', honest, keys, 0, 'PASS'],
  [
    'a service that is at capacity for every tenth request',
    only((_, count) => count % 10 === 9, refusal(503)),
    both,
    0,
    'PASS',
  ],
  ['a service that fails once', only((_, count) => count === 3, refusal(500)), both, 0, 'PASS'],
  ['a gateway that fails once', only((_, count) => count === 3, gateway(502)), both, 0, 'PASS'],
  [
    'refusals that a threshold demands',
    forChat(refusal(402, { code: 'INSUFFICIENT_BALANCE' })),
    expectsRefusal,
    0,
    'PASS',
  ],

  ...[500, 503, 504, 999, 418, 429, 402].map(
    (status): Case => [
      `only ${status}`,
      refusal(status),
      both,
      status < 500 ? -1 : 3,
      `No request of the load succeeded: 16 got ${status}`,
    ],
  ),
  // Any server gives these, so they are not judged.
  ...[403, 404].map(
    (status): Case => [`only ${status}`, refusal(status), both, 3, `Every request got ${status} ("No: ${status}")`],
  ),
  ['only 500, without thresholds', refusal(500), bare, 3, 'No request of the load succeeded'],
  ['only 500, users', refusal(500), closed, 3, 'No request of the load succeeded'],
  ['only 500, saturated', refusal(500), saturated, 3, 'No request of the load succeeded'],
  ['only 500, searched', refusal(500), search, 3, 'No request of the load succeeded'],
  ['only 503 to probes', afterwards(refusal(503)), probes, 3, 'No request of the load succeeded: 3 got 503'],
  [
    'only 503 to probes that should be accepted',
    afterwards(refusal(503)),
    keys,
    3,
    'No request of the load succeeded: 3 got 503',
  ],
  ['only 500 to lists', afterwards(refusal(500)), lists, 3, 'No request of the load succeeded'],
  ['a gateway that answers 502 to everything', gateway(502), both, 3, 'Every request got 502'],
  [
    'a gateway that answers 502 to one endpoint',
    forRpc(gateway(502)),
    both,
    3,
    /None of \d+ requests of rpc in steady succeeded: \d+ got 502/,
  ],
  ['a gateway that redirects', afterwards(gateway(302)), both, -1, 'No request of the load succeeded: 16 got 302'],
  ['redirects of the service', afterwards((...asked) => withLocation(refusal(301)(...asked))), both, 3, '16 got 301'],
  [
    '304',
    afterwards((...asked) => ({ ...refusal(304)(...asked), body: { kind: 'whole', text: '' } })),
    both,
    3,
    '16 got 304',
  ],
  ['204', afterwards(replyTwist(reply => whole(reply, 204, ''))), both, 1, 'chat.object'],
  ['500 to RPC alone', forRpc(refusal(500)), both, 3, /None of \d+ requests of rpc in steady succeeded: \d+ got 500/],
  [
    '500 to chat alone',
    forChat(refusal(500)),
    both,
    3,
    /None of \d+ requests of chat in steady succeeded: \d+ got 500/,
  ],
  ['works until the load', afterwards(refusal(500)), both, 3, 'No request of the load succeeded'],
  [
    'works in the first stage',
    only((_, count) => count >= 16, refusal(500)),
    twoStages,
    3,
    // A request of the first stage that was sent late leaves one success to the second.
    /requests of (chat|rpc) in second (succeeded|did not succeed)/,
  ],
  [
    'works for three requests',
    only((_, count) => count >= 4, refusal(500)),
    both,
    3,
    /Most requests of \w+ in steady did not succeed/,
  ],
  [
    'fails for more than half',
    only((_, count) => count % 3 !== 0, refusal(500)),
    chatOnly,
    3,
    'Most requests of chat in steady did not succeed',
  ],
  ['200 with an empty body', empty, both, 1, 'rpc.response'],
  ['200 with an empty body, to streams', forChat(empty), streams, 1, 'chat.stream.content-type'],
  ['200 with HTML', afterwards(gateway(200)), both, 1, 'chat.object'],
  [
    'JSON-RPC errors for everything',
    forRpc(jsonTwist(() => ({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'down' } }))),
    both,
    1,
    'rpc.',
  ],
  [
    'a JSON-RPC error for every item',
    forRpc(
      jsonTwist(value =>
        (value as { id: number }[]).map(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32603, message: 'down' } })),
      ),
    ),
    batches,
    1,
    'got a JSON-RPC error for every item',
  ],
  [
    'a wrong id in the response to a probe',
    forRpc(jsonTwist(value => ({ ...(value as object), id: 'other' }))),
    keys,
    1,
    'rpc.id',
  ],
  [
    'wrong credits in the response to a probe',
    forRpc(replyTwist(reply => ({ ...reply, headers: { ...reply.headers, 'x-service-rpc-credits': '7' } }))),
    keys,
    1,
    'rpc.credits.amount',
  ],
  ['a nonsensical response to a probe', forRpc(jsonTwist(() => ({ ok: true }))), keys, 1, 'rpc.response'],
  [
    'drops of all arrivals',
    afterwards((...asked) => ({ ...refusal(500)(...asked), afterMs: 1_500 })),
    crammed,
    3,
    /dropped|total-timeout|succeeded/,
  ],
  ['nothing due', honest, rare, 3, 'No request of the load was due'],
  [
    'everything skipped for want of a key',
    honest,
    special,
    3,
    'No request of the load was sent: 2 arrivals had no key',
    { TURNPIKE_KEYS: 'ref_default_a,ref_default_b,ref_default_c,ref_default_d' },
  ],
  [
    'invented keys that the target does not know',
    refusal(401),
    both,
    3,
    'does not know the keys that Turnpike invented for it; set TURNPIKE_KEYS',
  ],
  [
    'invented keys, and a 401 without documented headers',
    gateway(401),
    both,
    3,
    'does not know the keys that Turnpike invented',
  ],
  [
    'invented keys that only the load shows to be unknown',
    (...asked) => (isBalanceCheck(asked[1]) ? refusal(503) : gateway(401))(...asked),
    both,
    3,
    'does not know the keys that Turnpike invented',
  ],
  [
    "the user's keys, all rejected",
    refusal(401),
    both,
    3,
    'rejected every key with 401',
    { TURNPIKE_KEYS: 'k1,k2,k3,k4' },
  ],
]

/** A few at a time: each run is a process with a thread of its own. */
test.concurrent.for(todays(cases, 4))('%s', async ([what, twist, file, code, says, environment = {}]) => {
  const { target, close } = await startTarget(twist)
  try {
    const out = join(folder, what.replace(/\W+/g, '-'))
    const ended = await turnpike(
      ['run', file, '--target', target, '--out', out, '--no-warm-up', '--quiet'],
      environment,
    )
    const said = (ended.stdout + ended.stderr).replace(/\s+/g, ' ')
    if (says instanceof RegExp) expect(said).toMatch(says)
    else expect(said).toContain(says)
    if (code === -1) expect([1, 3], said).toContain(ended.code)
    else expect(ended.code, said).toBe(code)
  } finally {
    await close()
  }
})
