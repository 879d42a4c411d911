import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { readRawStreams } from '../../../src/calibration/raw-reader.ts'
import { startCalibrationServer } from '../../../src/calibration/server.ts'
import { systemClock } from '../../../src/lib/clock.ts'

const load = { streams: 4, perSecond: 500, tokens: 20, tokensPerWrite: 3, seconds: 0.1 }
const stop = new AbortController().signal

test('reads every token of every stream, in order', async ({ onTestFinished }) => {
  const clock = systemClock()
  const calibrationServer = await startCalibrationServer({ clock, port: 0, ...load })
  onTestFinished(calibrationServer.close)
  const streams: (readonly number[])[] = []
  await readRawStreams({
    load,
    port: calibrationServer.port,
    clock,
    stop,
    onStream: ({ writtenMs, lateMs }, readMs) => {
      expect([lateMs.length, readMs.length]).toEqual([writtenMs.length, writtenMs.length])
      streams.push(writtenMs)
    },
  })
  expect(streams.map(writtenMs => writtenMs.length)).toEqual(streams.map(() => load.tokens))
  expect(streams.every(writtenMs => writtenMs.every((ms, index) => ms >= (writtenMs[index - 1] ?? 0)))).toBe(true)
  // 100 starts per second, for 40 ms of opening and 100 ms of measuring.
  expect(streams).toHaveLength(14)
})

test('rejects if the server closes a connection before the end of a stream', async ({ onTestFinished }) => {
  const server = createServer(socket => socket.on('data', () => socket.destroy()))
  onTestFinished(() => void server.close())
  const port = await new Promise<number>(resolve => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' ? (address?.port ?? 0) : 0)
    })
  })
  const reading = readRawStreams({ load, port, clock: systemClock(), stop, onStream: () => {} })
  await expect(reading).rejects.toThrow('the calibration server closed a connection')
})
