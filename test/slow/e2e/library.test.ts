import { describe, expect, test } from 'vitest'
import type { Report } from '../../../src/report/document.ts'
import { libraryScript } from '../../support/library-script.ts'

const short = '"test/e2e/short.yaml"'
const long = '"test/e2e/long.yaml"'

describe.concurrent('run() of the library', () => {
  test('resolves with the report, writes nothing, and leaves the process as it was', async () => {
    const { value, stdout, stderr } = await libraryScript(`
      import { mkdirSync, readdirSync } from 'node:fs'
      import { tmpdir } from 'node:os'
      import { resolve } from 'node:path'
      // Nobody else writes here, as other tests do in the folder of the project.
      const scenario = resolve(${short})
      mkdirSync(folder + '/here')
      process.chdir(folder + '/here')
      const signals = () => ['SIGINT', 'SIGTERM', 'SIGHUP', 'exit', 'uncaughtException'].map(name => process.listenerCount(name))
      const here = () => [readdirSync('.').sort(), readdirSync(tmpdir()).filter(name => /^turnpike-(?!test-)/.test(name)).length]
      process.env.TMPDIR = folder
      // The streams of the process count as open from their first use on.
      const own = [process.stdout, process.stderr] && process.getActiveResourcesInfo()
      const before = [signals(), process.exitCode ?? null, here(), { ...process.env }]
      const report = await turnpike.run(scenario)
      const after = [signals(), process.exitCode ?? null, here(), { ...process.env }]
      // What is closed is gone soon after.
      while (process.getActiveResourcesInfo().length > own.length) await new Promise(resolve => setImmediate(resolve))
      done({ report, before, after })`)
    const { report, before, after } = value as Record<string, unknown>
    expect((report as Report).verdict).toBe('pass')
    expect(after).toEqual(before)
    expect([stdout, stderr]).toEqual(['', ''])
  })

  test('leaves the fetch of the process as it was', async () => {
    const { value } = await libraryScript(`
      const service = await turnpike.startService()
      const body = '{}'
      // The undici of Turnpike refuses this header of the caller, and that of Node.js does not.
      const headers = { 'content-type': 'application/json', 'content-length': String(body.length) }
      const { status } = await fetch(new URL('chat/completions', service.url + '/'), { method: 'POST', headers, body })
      await service.close()
      done(status)`)
    expect(value).toBe(401)
  })

  test('ends as on ^C when its signal aborts, and takes an aborted one as it is', async () => {
    const { value } = await libraryScript(`
      const service = await turnpike.startService()
      const abort = new AbortController()
      const onProgress = ({ sent }) => { if (sent > 5) abort.abort() }
      const target = service.url
      const report = await turnpike.run(${long}, { target, onProgress, signal: abort.signal, warmUp: false })
      const refused = await turnpike.run(${long}, { target, signal: abort.signal }).catch(cause => cause === abort.signal.reason)
      await service.close()
      done({ report, refused })`)
    const { report, refused } = value as { readonly report: Report; readonly refused: unknown }
    expect(report.run.ended).toBe('interrupted')
    expect(report.load.failed).toBe(0)
    expect(report.billing.billedUsd).toBe(report.billing.claimedUsd)
    expect(report.findings).toEqual([])
    expect(refused).toBe(true)
  })

  test('two runs at the same time do not mix', async () => {
    const { value } = await libraryScript(`
      const honest = await turnpike.startService()
      const liar = await turnpike.startService({ lies: ['failed-item-in-full'] })
      const runAt = ({ url }, seed) => turnpike.run(${short}, { target: url, seed, warmUp: false })
      const reports = await Promise.all([runAt(honest, 1), runAt(liar, 2)])
      await honest.close()
      await liar.close()
      done(reports)`)
    const [first, second] = value as readonly [Report, Report]
    expect(first.findings).toEqual([])
    expect(first.verdict).not.toBe('fail')
    expect(second.findings.map(({ clause }) => clause)).toEqual(['rpc.batch.error-price'])
    expect(second.findings[0]?.examples[0]?.evidence[0]?.request?.curl).toContain('curl')
    expect([first.run.seed, second.run.seed]).toEqual([1, 2])
    expect(first.run.id).not.toBe(second.run.id)
  })

  test('throws a UsageError for a mistake, before anything is sent', async () => {
    const { value } = await libraryScript(`
      import { createServer } from 'node:http'
      let requests = 0
      const server = createServer((_, response) => { requests++; response.end() }).listen(0, '127.0.0.1')
      await new Promise(resolve => server.once('listening', resolve))
      const target = 'http://127.0.0.1:' + server.address().port
      const tries = [
        [${short}, { target: 'https://api.example.com/v1' }],
        [${short}, { target: 'https://api.example.com/v1', budgetUsd: 0.000001, keys: ['a', 'b', 'c'] }],
        [${short}, { target, budgetUsd: '0.000001' }],
        [${short}, { target, keys: ['just-one', 'just-one'] }],
        [${short}, { keys: ['a', 'b', 'c'] }],
        [${short}, { target, workers: 99 }],
        [${short}, { target, directory: 'src' }],
        [${short}, { target, speed: 2 }],
        ['no-such', { target }],
        [{ name: 'empty' }, { target }],
      ]
      const messages = []
      for (const [scenario, options] of tries)
        messages.push(await turnpike.run(scenario, options).then(
          () => 'ran',
          cause => (cause instanceof turnpike.UsageError ? '' : 'not a UsageError: ') + cause.message,
        ))
      server.close()
      done({ messages, requests })`)
    const { messages, requests } = value as { readonly messages: readonly string[]; readonly requests: number }
    expect(messages).toEqual([
      expect.stringMatching(/^budgetUsd: got nothing, expected a budget, because api\.example\.com/),
      expect.stringMatching(/^budget: got \$0\.000001, expected at least/),
      expect.stringMatching(/^budget: got \$0\.000001, expected at least/),
      expect.stringMatching(/^keys: got a key twice/),
      expect.stringMatching(/^keys: got keys without a target, expected a target that they belong to/),
      expect.stringMatching(/^workers: got 99, expected a whole number from 1 to 3/),
      expect.stringMatching(/^src: got a directory that is not empty.*with directory$/),
      expect.stringMatching(/^options\.speed: got "speed"/),
      expect.stringMatching(/^scenario: got "no-such", expected a file/),
      expect.stringMatching(/^scenario empty: got no "callers"/),
    ])
    expect(requests).toBe(0)
  })

  test('keys given as values reach the target, and no artifact', async () => {
    const { value } = await libraryScript(`
      import { createServer } from 'node:http'
      import { readdirSync, readFileSync } from 'node:fs'
      import { gunzipSync } from 'node:zlib'
      const keys = ['sk-Abc123xyz-of-anna-0001', 'sk-Abc123xyz-of-bert-0002', 'sk-Abc123xyz-of-cleo-0003']
      const seen = new Set()
      const server = createServer((request, response) => {
        seen.add(request.headers.authorization)
        request.resume().on('end', () => response.writeHead(200, { 'x-echo': request.headers.authorization }).end(request.headers.authorization))
      }).listen(0, '127.0.0.1')
      await new Promise(resolve => server.once('listening', resolve))
      const target = 'http://127.0.0.1:' + server.address().port
      const directory = folder + '/run'
      const notes = []
      const report = await turnpike.run(${short}, { target, keys, directory, warmUp: false, onNote: note => notes.push(note) })
      server.close()
      const texts = readdirSync(directory).map(name => {
        const bytes = readFileSync(directory + '/' + name)
        return name.endsWith('.gz') ? gunzipSync(bytes).toString() : bytes.toString()
      })
      const leaks = [JSON.stringify(report), ...notes, ...texts].filter(text => text.includes('Abc123xyz'))
      done({ seen: [...seen].sort(), leaks, files: texts.length, own: process.env.TURNPIKE_KEYS ?? null })`)
    expect(value).toEqual({
      seen: [
        'Bearer sk-Abc123xyz-of-anna-0001',
        'Bearer sk-Abc123xyz-of-bert-0002',
        'Bearer sk-Abc123xyz-of-cleo-0003',
      ],
      leaks: [],
      files: 11,
      own: null,
    })
  })

  test('rejects with what onProgress throws, once the run has ended', async () => {
    const { value } = await libraryScript(`
      const onProgress = () => { throw new RangeError('of the caller') }
      const cause = await turnpike.run(${long}, { onProgress, warmUp: false }).catch(cause => cause)
      done([cause.name, cause.message])`)
    expect(value).toEqual(['RangeError', 'of the caller'])
  })
})
