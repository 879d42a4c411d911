import { expect, test } from 'vitest'
import type { CalibrationResult } from '../../../src/calibration/result.ts'
import { serveForTest, turnpike } from '../../support/turnpike.ts'

const small = ['calibrate', '--streams', '3', '--tokens', '5', '--seconds', '1']

test('calibrate reads every token over loopback, and none before its write', async () => {
  const { code, stdout, stderr } = await turnpike([...small, '--format', 'json'])
  const { verdict, tokenCountMismatches, turnpike: ours, raw, load }: CalibrationResult = JSON.parse(stdout)
  // This load is too short for a p99 of first tokens, on any machine.
  expect({ code, verdict, tokenCountMismatches, stderr }).toEqual({
    code: 3,
    verdict: 'inconclusive',
    tokenCountMismatches: 0,
    stderr: expect.any(String),
  })
  expect(load).toEqual({ streams: 3, perSecond: 50, tokens: 5, tokensPerWrite: 1, seconds: 1 })
  for (const { chunkMs, earliestMs } of [ours, raw]) {
    expect(chunkMs.count).toBeGreaterThan(0)
    expect(earliestMs).toBeGreaterThan(0)
  }
})

test.each([
  ['--streams', '0', 'a whole number from 1 to 10000'],
  ['--tokens', '2001', 'a whole number from 2 to 2000'],
  ['--max-p99', '0', 'milliseconds above 0'],
])('calibrate refuses %s %s and starts nothing', async (flag, value, expected) => {
  const { code, stdout, stderr } = await turnpike(['calibrate', flag, value])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toBe(`${flag}: got ${value}, expected ${expected}\n`)
})

test('calibration-server prints its address, serves streams, and stops on a signal', async ({ onTestFinished }) => {
  const { target, service: calibrationServer } = await serveForTest(
    ['calibration-server', '--rate', '1000'],
    onTestFinished,
  )
  await calibrationServer.said('^C stops it')
  const response = await fetch(`${target}/chat/completions`, { method: 'POST', body: '{"max_completion_tokens":7}' })
  const text = await response.text()
  expect(text.match(/^id: stamp [\d.]+ [\d.]+\ndata: \{.*\}$/gm)).toHaveLength(7)
  expect(text).toMatch(/data: \[DONE\]\n\n$/)
  calibrationServer.child.kill('SIGINT')
  expect((await calibrationServer.ended).code).toBe(0)
})
