import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { stampStreams } from '../../../src/calibration/calibrate.ts'
import { createPacer } from '../../../src/calibration/server.ts'
import { createCalibrationAccount, limitsResponse, streamTexts } from '../../../src/calibration/server-answers.ts'
import { monotonicOriginMs } from '../../../src/lib/clock.ts'
import type { Exchange, Transport } from '../../../src/produce/transport/transport.ts'
import { type ManualClock, manualClock } from '../../../src/prove/manual-clock.ts'

// Server and client each read this once for the origin of the clock. Real time would pass between the two.
beforeEach(() => void vi.spyOn(process.hrtime, 'bigint').mockReturnValue(1_000_000_000n))
afterEach(() => void vi.restoreAllMocks())

const load = { streams: 10, perSecond: 50, tokens: 10, tokensPerWrite: 1, seconds: 7 }

/** The calibration server without sockets: each text arrives `delayMs` after the write. `distort` may change it on the way. */
function wire(clock: ManualClock, delayMs: number, distort = (text: string): string => text): Transport {
  const account = createCalibrationAccount(clock)
  const pacer = createPacer({ clock, perSecond: load.perSecond, tokensPerWrite: load.tokensPerWrite })
  return ({ method, onStreamBytes }) =>
    new Promise(resolve => {
      const sentMs = clock.nowMs()
      const end = (head: string, body: string): void => {
        const bytes = Buffer.from(body)
        const common = { sentMs, headersMs: sentMs, endMs: clock.nowMs(), status: 200, failure: null }
        resolve({ ...common, headers: headersIn(head), body: bytes, bytes: bytes.length } satisfies Exchange)
      }
      if (method === 'GET') {
        const [head = '', body = ''] = limitsResponse(account.draw(0)).split('\r\n\r\n')
        return end(head, body)
      }
      const texts = streamTexts(account.draw(load.tokens), load.tokens)
      const [head = '', ...first] = texts.opening.split('\r\n\r\n')
      const deliver = (text: string): void => {
        onStreamBytes?.(
          Buffer.from(distort(text.replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, '').replaceAll('\r\n', ''))),
          clock.nowMs(),
        )
        if (text.endsWith('0\r\n\r\n')) end(head, '')
      }
      deliver(first.join('\r\n\r\n'))
      pacer.begin(text => clock.at(clock.nowMs() + delayMs, () => deliver(text)) !== null, texts, load.tokens)
    })
}

const headersIn = (head: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    head
      .split('\r\n')
      .slice(1)
      .map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )

function stamp(delayMs: number, distort?: (text: string) => string) {
  const clock = manualClock()
  const originMs = monotonicOriginMs(clock)
  const send = wire(clock, delayMs, distort)
  const stop = new AbortController().signal
  return clock.run(stampStreams({ load, target: 'http://127.0.0.1:1/api/v1', clock, originMs, send, stop }))
}

describe('stampStreams', () => {
  test('measures the delay of each token, and the calibration server passes every judge', async () => {
    const { turnpike, tokenCountMismatches, run } = await stamp(3)
    expect(run).toMatchObject({ verdict: 'pass' })
    expect(tokenCountMismatches).toBe(0)
    expect(turnpike.chunkMs.count).toBe(load.streams * load.perSecond * load.seconds)
    expect(turnpike.firstTokenMs.count).toBe(turnpike.chunkMs.count / load.tokens)
    for (const delay of [turnpike.chunkMs, turnpike.firstTokenMs]) {
      expect(delay.p50).toBeCloseTo(3, 2)
      expect(delay.max).toBeCloseTo(3, 2)
    }
    expect(turnpike.gapMs.max).toBeCloseTo(0, 2)
    expect(turnpike.serverLatenessMs.max).toBe(0)
  })

  test('counts streams with a lost token', async () => {
    let seen = 0
    const { tokenCountMismatches } = await stamp(1, text =>
      text.includes('id: stamp') && ++seen % 10 === 0 ? text.replace('"content"', '"contend"') : text,
    )
    expect(tokenCountMismatches).toBeGreaterThan(0)
  })
})
