import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createServer } from 'node:tls'
import { beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { todays } from '../support/nightly.ts'
import { selfSigned } from '../support/self-signed.ts'
import { freshDirectory, turnpikeInTurn } from '../support/turnpike.ts'
import { type RawOptions, response, startRawTarget } from './raw-target.ts'
import { jsonTargets, streamTargets } from './wire-content.ts'
import { bodyTargets, connectionTargets, type HostileTarget, headTargets } from './wire-http.ts'

const here = import.meta.dirname
/** Of one run, from the start of the program to its end. Unlike elapsed time, it does not depend on other processes. */
const maxCpuSeconds = 10
/** A run that has not ended by now hangs. */
const hangsMs = 60_000

const argumentsFor = (target: string, scenario = 'wire.yaml'): readonly string[] => [
  ...['run', join(here, scenario), '--target', target, '--profile', join(here, 'wire-profile.yaml')],
  ...['--budget-usd', '1', '--no-warm-up', '--no-progress', '--out', join(freshDirectory(), 'run')],
]

/** Keys, since Turnpike invents some only for a target on this machine. */
const keys = { TURNPIKE_KEYS: 'test-key-1,test-key-2' }

type Ended = {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  readonly cpuSeconds: number
}

/** Runs the program in a shell that first runs `setUp`, and in the end prints the CPU time. */
async function runProgram(args: readonly string[], setUp = ':'): Promise<Ended> {
  const main = join(here, '..', '..', 'dist', 'main.js')
  const script = `${setUp}; "$0" "$@"; code=$?; times >&2; exit $code`
  const child = spawn('sh', ['-c', script, process.execPath, main, ...args], { env: { ...process.env, ...keys } })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  const times = /(\d+)m([\d.]+)s (\d+)m([\d.]+)s\s*$/.exec(stderr)?.slice(1).map(Number)
  const [userMinutes = Number.NaN, userSeconds = 0, systemMinutes = 0, systemSeconds = 0] = times ?? []
  return { code, stdout, stderr, cpuSeconds: (userMinutes + systemMinutes) * 60 + userSeconds + systemSeconds }
}

const runAgainst = (target: string): Promise<Ended> => runProgram(argumentsFor(target))

async function runRaw(options: RawOptions) {
  const target = await startRawTarget(options)
  try {
    return await runAgainst(`http://127.0.0.1:${target.port}/v1`)
  } finally {
    target.close()
  }
}

function assertNamed({ code, stdout, stderr, cpuSeconds }: Ended, words: RegExp): void {
  expect(stderr).not.toMatch(/crashed|\n\s+at /i)
  expect(stdout).not.toMatch(/crashed/i)
  expect([1, 3]).toContain(code)
  expect(stdout).toMatch(words)
  expect(cpuSeconds).toBeLessThan(maxCpuSeconds)
}

const tables: Readonly<Record<string, readonly HostileTarget[]>> = {
  'a connection': connectionTargets,
  'the head of a response': headTargets,
  'the body of a response': bodyTargets,
  'the JSON of a response': jsonTargets,
  'an event stream': streamTargets,
}

describe.each(Object.entries(tables))('a fault of %s is named, and nothing crashes:', (_, table) => {
  test.concurrent.each(todays(table, 6))(
    '%s',
    async (_name, target, words) => assertNamed(await runRaw(target), words),
    hangsMs,
  )
})

describe('a target without a connection is named:', () => {
  test.concurrent('nobody listens', async () => {
    assertNamed(await runAgainst(`http://127.0.0.1:${await freePort()}/v1`), /connect-refused/)
  })

  test.concurrent('nobody listens at an IPv6 address', async () => {
    assertNamed(await runAgainst(`http://[::1]:${await freePort()}/v1`), /connect-refused|no free local address/)
  })

  test.concurrent('a name that does not exist', async () => {
    assertNamed(await runAgainst('http://no-such-host.invalid/v1'), /name-not-resolved/)
  })

  test.concurrent('https to a server without TLS', async () => {
    const target = await startRawTarget({ onRequest: () => response('{}') })
    assertNamed(await runAgainst(`https://127.0.0.1:${target.port}/v1`), /tls|connect-timeout/)
    target.close()
  })

  test.concurrent.each([
    ['http', /protocol|connection-lost/],
    ['https', /tls/],
  ])('%s to a server whose certificate nobody trusts', async (protocol, words) => {
    const server = createServer(selfSigned, socket => socket.on('error', () => {}).pipe(socket))
    server.on('tlsClientError', () => {}).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : null
    assertNamed(await runAgainst(`${protocol}://127.0.0.1:${port}/v1`), words)
    server.close()
  })
})

describe('a target is a mistake, with exit code 2, and no secret of it is shown:', () => {
  const targets = [
    'http://user:secret@127.0.0.1:1/v1',
    'http://127.0.0.1:1/v1?a=1',
    'http://127.0.0.1:1/v1#a',
    'ftp://127.0.0.1/v1',
    'http://127.0.0.1:99999/v1',
    'http://',
    'v1',
  ]
  let all: Awaited<ReturnType<typeof turnpikeInTurn>> = []
  beforeAll(async () => {
    all = await turnpikeInTurn(
      targets.map(target => ({ args: argumentsFor(target) })),
      keys,
    )
  })

  test.each(targets.map((target, index) => ({ target, index })))('$target', ({ index }) => {
    const { code, stderr, stdout } = all[index] ?? { code: null, stderr: '', stdout: '' }
    expect(code).toBe(2)
    expect(stderr).toMatch(/--target/)
    expect(stderr + stdout).not.toMatch(/secret@/)
  })
})

test('a machine without file descriptors is not blamed on the target', async () => {
  const target = await startRawTarget({ onRequest: socket => void setTimeout(() => socket.write(response('{}')), 500) })
  const args = argumentsFor(`http://127.0.0.1:${target.port}/v1`, 'many-connections.yaml')
  const { stdout } = await runProgram(args, 'ulimit -n 150')
  target.close()
  const report = stdout.replace(/\s+/g, ' ')
  expect(report).toMatch(/Turnpike could not send \d+ requests because of its own machine, not of the target/)
  expect(report).toContain('Raise "ulimit -n"')
  expect(report).toMatch(/ 0 failed, \d+ dropped/)
  expect(report).not.toMatch(/Threshold crossed/)
})
