import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'
import { isChat } from '../../../src/observation/requests/chat.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import { promptAt, type Recording } from '../../../src/plan/recorded-load.ts'
import { createArrivalSource } from '../../../src/produce/arrivals/arrivals.ts'
import { buildRequest } from '../../../src/produce/calls/kinds.ts'
import type { Lie } from '../../../src/service/lies/lie.ts'
import { knownLie } from '../../../src/service/lies/lies.ts'
import { type ImportedTraffic, type ImportOptions, importTraffic } from '../../../src/traffic/import-traffic.ts'
import { readTrace } from '../../../src/traffic/read-trace.ts'
import { virtualRun } from '../../support/virtual-run.ts'

let directory = ''
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-traffic-'))
})
afterAll(() => rmSync(directory, { recursive: true }))
beforeEach(() => {
  for (const name of readdirSync(directory)) rmSync(join(directory, name))
})

const out = () => join(directory, 'traffic.yaml')
const trace = () => join(directory, 'traffic.trace.jsonl')

async function imported(text: string | Buffer, options: Partial<ImportOptions> = {}): Promise<ImportedTraffic> {
  const file = join(directory, 'source')
  writeFileSync(file, text)
  return await importTraffic(file, { out: out(), ...options })
}

const rows = () =>
  readFileSync(trace(), 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)

/** The first lines of the published Mooncake trace. */
const mooncake = `{"timestamp": 0, "input_length": 6755, "output_length": 500, "hash_ids": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]}
{"timestamp": 0, "input_length": 7319, "output_length": 490, "hash_ids": [0, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27]}
{"timestamp": 3052, "input_length": 7234, "output_length": 794, "hash_ids": [0, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41]}
{"timestamp": 3052, "input_length": 2287, "output_length": 316, "hash_ids": [0, 42, 43, 44, 45]}
`

/** Runs the imported scenario in virtual time, and says what was due when, and what the service counted. */
async function replayed(blockTokens = 512, lies: readonly Lie[] = []) {
  const scenario = readFileSync(out(), 'utf8')
  const calls = [...scenario.matchAll(/^ {2}([a-z0-9-]+): \{ kind: chat/gm)].map(([, name]) => name ?? '')
  const recording: Recording = await readTrace('replay', trace(), { callers: 1, calls, blockTokens })
  const { observations, report, plan } = await virtualRun({
    scenario,
    lies,
    recordings: new Map([['replay', recording]]),
  })
  const sent = observations.filter(({ request, stage }) => stage === 'replay' && isChat(request))
  const firstMs = Math.min(...sent.map(({ dueMs }) => dueMs))
  return {
    report,
    plan,
    prompts: promptsOf(plan),
    requests: sent
      .toSorted((a, b) => a.id - b.id)
      .map(({ dueMs, sentMs, call, request, response }) => {
        const usage = response?.body.kind === 'stream' ? response.body.stream.usage : null
        return {
          dueMs: Math.round(dueMs - firstMs),
          isLate: (sentMs ?? 0) > dueMs + 1,
          call,
          request: request as Chat,
          usage,
        }
      }),
  }
}

/** The prompts of the first stage, in words. */
function promptsOf(plan: Plan): readonly (readonly string[])[] {
  const [stage] = plan.stages
  const context = { contract: documentedContract, bounds: plan.bounds, seed: plan.seed, runId: 'r1' }
  return [...(stage === undefined ? [] : createArrivalSource(plan).open(stage))].map(({ id, call, prompt }) => {
    const planned = plan.calls[call]
    if (planned === undefined) throw new Error(`no call ${call}`)
    const { body } = buildRequest(planned, { firstId: id, step: 'only', prompt }, {}, context).request
    const { messages } = JSON.parse(String(body)) as { messages: readonly { readonly content: string }[] }
    return messages.flatMap(({ content }) => content.split(' '))
  })
}

/** The number of words at the beginning of both. */
function shared(a: readonly string[] = [], b: readonly string[] = []): number {
  const different = a.findIndex((word, at) => word !== b[at])
  return different < 0 ? a.length : different
}

type Chat = {
  readonly promptTokens: number
  readonly maxCompletionTokens: number
  readonly recorded?: number
  readonly newTokens?: number
}

describe('a Mooncake trace', () => {
  test('becomes a scenario that sends at the recorded times with the recorded lengths', async () => {
    const result = await imported(mooncake)
    expect(result).toMatchObject({ format: 'mooncake', requests: 4, sessions: 0, durationMs: 3_052, speed: 1, bad: 0 })
    expect(result).toMatchObject({ promptTokens: 23_595, completionTokens: 2_100 })
    const { requests, report, plan } = await replayed()
    expect(requests.map(({ dueMs, isLate }) => [dueMs, isLate])).toEqual([
      [0, false],
      [0, false],
      [3_052, false],
      [3_052, false],
    ])
    expect(
      requests.map(({ request: { promptTokens, maxCompletionTokens } }) => [promptTokens, maxCompletionTokens]),
    ).toEqual([
      [6_755, 500],
      [7_319, 490],
      [7_234, 794],
      [2_287, 316],
    ])
    expect(report.verdict).toBe('pass')
    // The forecast knows the length of each, and not only the longest.
    expect(plan.forecast.calls).toMatchObject([{ call: 'chat', requests: 4 }])
    const price = documentedContract.models[0]?.usdPerMillion
    expect(Number(plan.forecast.worstUsd)).toBeLessThan(((23_595 * 1.1 + 400) * Number(price?.input) + 2_100 * 5) / 1e6)
  })

  test('shares the words of the blocks that it shares, and no others', async () => {
    await imported(mooncake)
    const { prompts } = await replayed()
    expect(prompts.map(words => words.length)).toEqual([6_755, 7_319, 7_234, 2_287])
    // The first block is that of all. A word may be the same by chance.
    for (const [at, words] of prompts.entries())
      for (const other of prompts.slice(at + 1)) {
        expect(shared(words, other)).toBeGreaterThanOrEqual(512)
        expect(shared(words, other)).toBeLessThan(520)
      }
  })

  test('gives the prompt of each request again, by its position', async () => {
    await imported(mooncake, { sample: 0.9 })
    const { plan, requests } = await replayed()
    const [stage] = plan.stages
    if (stage === undefined) throw new Error('no stage')
    const arrivals = [...createArrivalSource(plan).open(stage)]
    for (const [at, { request }] of requests.entries())
      expect(promptAt(plan.stages, 'replay', request.recorded ?? -1)).toEqual(arrivals[at]?.prompt)
  })

  test('sends its own text, if it has some', async () => {
    const line = { timestamp: 0, input_length: 5, output_length: 2, text_input: 'How long is the Nile?' }
    await imported(JSON.stringify(line), { keepsText: true })
    const { prompts, report } = await replayed()
    expect(prompts[0]?.join(' ')).toBe('How long is the Nile?')
    expect(report.verdict).toBe('pass')
    for (const name of [out(), trace()]) rmSync(name)
    await imported(JSON.stringify(line))
    expect(readFileSync(trace(), 'utf8')).not.toContain('Nile')
  })

  test.each([
    ['nothing', [], 'pass'],
    ['new prompts', ['cached-at-first-sight'], 'fail'],
  ])('with text of its own in each prompt shows a service that counts %s as cached', async (_, lies, verdict) => {
    const line = { input_length: 2_400, output_length: 2, cached_length: 1_500 }
    await imported([0, 2_000, 4_000].map(timestamp => JSON.stringify({ timestamp, ...line })).join('\n'))
    const { report, requests } = await replayed(512, lies.map(knownLie))
    expect(requests.map(({ request }) => request.newTokens)).toEqual([900, 900, 900])
    expect(report.clauses.find(({ id }) => id === 'chat.usage.cached.new')?.verdict).toBe(verdict)
  })

  test('is read again as it was written', async () => {
    await imported(mooncake)
    const lines = mooncake.trim().split('\n')
    expect(rows()).toEqual(lines.map(line => JSON.parse(line) as unknown))
  })
})

/** The first lines of the published Azure traces: of 2023, and of 2024 with an offset. */
const azure = `TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-16 18:15:51.2224670,879,55
`
const azure2024 = `TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-12 00:00:00.001163+00:00,2162,5
2024-05-12 00:00:00.005320+00:00,2399,6
`
/** The first lines of the published BurstGPT trace, and the columns of newer ones. */
const burst = `Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,230,1317,Conversation log
118,GPT-4,417,276,693,Conversation log
`
const datedBurst = burst.replace(/^5,/m, '1970-01-01T00:00:05Z,')
const sessions = `Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
0,a-person,1,GPT-4,100,10,110,Conversation log
10,a-person,1,GPT-4,200,20,220,Conversation log
20,other,1,GPT-4,150,0,150,Conversation log
`

test('a trace with more requests than a plan may contain says how to keep a part of them', async () => {
  await imported(mooncake)
  const use = { callers: 1, calls: ['chat'], blockTokens: 512 }
  await expect(readTrace('replay', trace(), use, 3)).rejects.toThrow(
    `stage replay: got more than 3 requests in ${trace()}, expected at most 3, since a plan contains them all; turnpike import --sample keeps a part of them`,
  )
  expect((await readTrace('replay', trace(), use, 4)).count).toBe(4)
})

test('a Qwen-Bailian trace has seconds, and chats that go on are sessions', async () => {
  const line = (chat: number, parent: number, seconds: number, input: number, ids: readonly number[]) =>
    JSON.stringify({
      ...{ chat_id: chat, parent_chat_id: parent, timestamp: seconds, input_length: input, output_length: 30 },
      ...{ type: 'text', turn: parent === -1 ? 1 : 2, hash_ids: ids },
    })
  const chats = [
    line(159, -1, 61.114, 40, [1, 2, 3]),
    line(7, -1, 62, 20, [9, 8]),
    line(160, 159, 70.5, 60, [1, 2, 3, 4]),
    line(161, 160, 80, 70, [1, 2, 3, 4, 5]),
  ]
  expect(await imported(chats.join('\n'))).toMatchObject({ format: 'bailian', requests: 4, sessions: 2, bad: 0 })
  expect(rows().map(({ timestamp }) => timestamp)).toEqual([0, 886, 9_386, 18_886])
  const names = rows().map(({ session_id: session }) => session)
  expect([names[2], names[3]]).toEqual([names[0], names[0]])
  expect(names[1]).not.toBe(names[0])
  const { prompts } = await replayed()
  expect(shared(prompts[0], prompts[2])).toBe(40)
})

describe('a table', () => {
  test.each([
    ['azure', azure, [0, 4_314.579, 4_541.877], [374, 396, 879], [44, 109, 55]],
    ['azure', azure2024, [0, 4.157], [2_162, 2_399], [5, 6]],
    ['burstgpt', burst, [0, 40_000, 113_000], [472, 1_087, 417], [18, 230, 276]],
    ['burstgpt', datedBurst, [0, 40_000, 113_000], [472, 1_087, 417], [18, 230, 276]],
  ])('of %s has its times and lengths', async (format, text, times, input, output) => {
    expect(await imported(text)).toMatchObject({ format, requests: times.length, bad: 0 })
    const column = (name: keyof ReturnType<typeof rows>[number]) => rows().map(row => row[name])
    expect([column('timestamp'), column('input_length'), column('output_length')]).toEqual([times, input, output])
  })

  test('has a call for each model, and names models if they are wanted', async () => {
    await imported(burst)
    expect(rows().map(({ call }) => call)).toEqual(['chatgpt', 'chatgpt', 'gpt-4'])
    const { requests } = await replayed()
    expect(requests.map(({ call, request }) => [call, request.promptTokens])).toEqual([
      ['chatgpt', 472],
      ['chatgpt', 1_087],
      ['gpt-4', 417],
    ])
    expect(readFileSync(out(), 'utf8')).not.toContain('model:')
    for (const name of [out(), trace()]) rmSync(name)
    await imported(burst, { keepsModels: true })
    expect(readFileSync(out(), 'utf8')).toContain('gpt-4: { kind: chat, model: "GPT-4", ')
  })

  test('keeps sessions without their names: each prompt begins with the one before it', async () => {
    expect(await imported(sessions)).toMatchObject({ sessions: 2 })
    const [first, second, third] = rows().map(({ session_id: session }) => session)
    expect(first).toBe(second)
    expect(third).not.toBe(first)
    expect(readFileSync(trace(), 'utf8')).not.toContain('person')
    // An answer without a token is that of a request that failed.
    expect(rows()[2]).toMatchObject({ output_length: 1 })
    const { prompts } = await replayed()
    expect(shared(prompts[0], prompts[1])).toBe(100)
    expect(shared(prompts[0], prompts[2])).toBeLessThan(8)
  })
})

describe('an import', () => {
  const many = Array.from({ length: 2_000 }, (_, at) =>
    JSON.stringify({ timestamp: at * 10, input_length: 8, output_length: 2, session_id: `s${at % 100}` }),
  ).join('\n')

  test('keeps whole sessions of a sample, the same for one seed', async () => {
    const first = await imported(many, { sample: 0.3 })
    expect(first.sessions).toBeGreaterThan(15)
    expect(first.sessions).toBeLessThan(45)
    expect(first.requests).toBe((first.sessions ?? 0) * 20)
    expect(first.requests + first.notSampled).toBe(2_000)
    const lines = readFileSync(trace(), 'utf8')
    for (const name of [out(), trace()]) rmSync(name)
    await imported(many, { sample: 0.3 })
    expect(readFileSync(trace(), 'utf8')).toBe(lines)
    for (const name of [out(), trace()]) rmSync(name)
    await imported(many, { sample: 0.3, seed: 2 })
    expect(readFileSync(trace(), 'utf8')).not.toBe(lines)
  })

  test('has a speed, or the speed of a mean rate', async () => {
    expect(await imported(many, { speed: 4 })).toMatchObject({ speed: 4 })
    expect(readFileSync(out(), 'utf8')).toContain('speed: 4 }')
    for (const name of [out(), trace()]) rmSync(name)
    const { speed, requests, durationMs } = await imported(many, { perSecond: 20 })
    expect((requests * 1_000 * speed) / durationMs).toBeCloseTo(20, 3)
  })

  test('ends after its duration', async () => {
    expect(await imported(many, { durationMs: 1_000 })).toMatchObject({ requests: 100, durationMs: 990 })
  })

  test('sorts what is a little out of order', async () => {
    const lines = [30, 10, 20].map(timestamp => JSON.stringify({ timestamp, input_length: 8, output_length: 2 }))
    await imported(lines.join('\n'))
    expect(rows().map(({ timestamp }) => timestamp)).toEqual([0, 10, 20])
  })

  const line = '{"timestamp": 1, "input_length": 8, "output_length": 2}\n'
  test.each([
    ['no JSON', '{"timestamp": 1, "input', 'got a line that is not JSON, expected a JSON object'],
    ['no object', '[1]', 'got a list, expected a JSON object'],
    ['no time', '{"input_length": 8, "output_length": 2}', 'got timestamp nothing, expected a number of milliseconds'],
    ['no length', '{"timestamp": 1}', 'got a request without input_length, expected input_length and output_length'],
    ['no tokens', '{"timestamp": 1, "input_length": 0, "output_length": 2}', 'got input_length 0, expected a whole'],
    ['too long', '{"timestamp": 1, "input_length": 9e9, "output_length": 2}', 'got input_length 9000000000, expected'],
    ['bad ids', '{"timestamp": 1, "input_length": 8, "output_length": 2, "hash_ids": [-1]}', 'got hash_ids a list,'],
  ])('counts a bad line (%s) and names it', async (_, wrong, message) => {
    const result = await imported(line.repeat(150) + wrong)
    expect(result).toMatchObject({ requests: 150, bad: 1, badLines: [{ line: 151 }] })
    await expect(imported(wrong, { from: 'mooncake', out: join(directory, 'b.yaml') })).rejects.toThrow(
      `source:1: ${message}`,
    )
  })

  test('refuses a larger share of bad lines, and leaves no file', async () => {
    const text = `${line.repeat(90)}${'x\n'.repeat(10)}`
    await expect(imported(text)).rejects.toThrow(
      'got 10 bad of 100 lines, expected at most 1% of them; turnpike import --max-bad allows a larger share',
    )
    expect(readdirSync(directory)).toEqual(['source'])
    expect(await imported(text, { maxBad: 0.1 })).toMatchObject({ requests: 90, bad: 10 })
  })

  test('reads what gzip has compressed, part by part', async () => {
    const lines = line.repeat(50_000)
    let bytes = 0
    const zipped = gzipSync(lines)
    const onProgress = (progress: { readonly bytes: number }) => {
      bytes = progress.bytes
    }
    expect(await imported(zipped, { onProgress })).toMatchObject({ format: 'mooncake', requests: 50_000, bad: 0 })
    expect(bytes).toBe(zipped.length)
    rmSync(out())
    rmSync(trace())
    expect(await imported(zipped, { durationMs: 1, from: 'mooncake' })).toMatchObject({ bad: 0 })
  })

  test('says so if a sample keeps no request', async () => {
    await expect(imported(line, { sample: 0.000001 })).rejects.toThrow(
      'got no request, expected at least one request; the sample has left all out',
    )
  })

  test('gives up on a file that begins with nothing but bad lines', async () => {
    await expect(imported('x\n'.repeat(5_000), { from: 'mooncake', maxBad: 1 })).rejects.toThrow(UsageError)
  })

  test.each([
    ['an unknown format', 'hello\n', {}, 'got traffic of an unknown format, expected a Qwen-Bailian trace'],
    ['nothing', '', {}, 'got an empty file, expected a Qwen-Bailian trace'],
    ['no request', 'TIMESTAMP,ContextTokens,GeneratedTokens\n', {}, 'got no request, expected at least one request'],
    [
      'an endless value',
      `${line}${'1'.repeat(67_108_865)}`,
      {},
      ':2: got a value of more than 64 MiB, expected a shorter one',
    ],
    [
      'half of a gzip file',
      gzipSync(Buffer.from(line)).subarray(0, 40),
      {},
      'got a gzip file that is damaged, or ends too early, expected a file that can be read',
    ],
    ['binary data', `${line}\u0000`, {}, 'got binary data, expected a text file'],
    ['UTF-16', Buffer.from(`\uFEFF${line}`, 'utf16le'), {}, 'got UTF-16, as ">" of Windows PowerShell 5 writes it'],
    ['a strange sample', line, { sample: 2 }, 'import: sample: got 2, expected a number from'],
    ['two speeds', line, { speed: 2, perSecond: 3 }, 'got both a speed and a rate, expected one of them'],
    ['a rate out of reach', line, { perSecond: 5_000_000 }, 'import: perSecond: got 5000000'],
    ['another name', line, { out: 'traffic.json' }, 'got traffic.json, expected a file that ends in .yaml'],
  ])('refuses %s', async (_, text, options, message) => {
    await expect(imported(text, options)).rejects.toThrow(message)
  })

  test('overwrites nothing', async () => {
    await imported(line)
    await expect(imported(line)).rejects.toThrow('got an existing file, expected a new one')
    await expect(importTraffic(join(directory, 'none'), { out: join(directory, 'b.yaml') })).rejects.toThrow(
      'got no such file, expected a file that can be read',
    )
  })
})
