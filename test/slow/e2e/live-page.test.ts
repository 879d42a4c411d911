import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freshDirectory, startForTest } from '../../support/turnpike.ts'

const scenario = 'test/e2e/short.yaml'

test('a page that reads gets the report, and one that never reads does not hold the process', async ({
  onTestFinished,
}) => {
  const out = join(freshDirectory(), 'run')
  const run = startForTest(['run', scenario, '--out', out, '--ui', '0'], onTestFinished)
  const port = Number((await run.said(/Watch the run at http:\/\/127\.0\.0\.1:\d+/)).split(':').at(-1))
  const open = async () => {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    socket.on('error', () => {})
    socket.write(`GET /events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
    return socket
  }
  const stuck = await open()
  stuck.pause()
  const reading = await open()
  let text = ''
  reading.on('data', bytes => {
    text += bytes
  })
  const { code, stdout } = await run.ended
  expect(code).toBe(0)
  expect(stdout).toMatch(/^PASS {2}short/)
  expect(text.match(/^event: frame$/gm)?.length).toBeGreaterThan(1)
  // In chunks, whose lengths stand between them.
  const events = text.replace(/\r\n[\da-f]+\r\n/g, '').split('\n\n')
  const report = events.find(event => event.includes('event: report\n')) ?? ''
  const data = report.slice(report.indexOf('data: ') + 'data: '.length)
  expect(JSON.parse(data)).toBe(readFileSync(join(out, 'report.html'), 'utf8'))
})

test('a POST of the page ends the run as ^C does, and one of another site does not', async ({ onTestFinished }) => {
  const run = startForTest(
    ['run', 'test/e2e/long.yaml', '--out', join(freshDirectory(), 'run'), '--ui', ':0'],
    onTestFinished,
  )
  const url = (await run.said(/Watch the run at http:\S+/)).replace('Watch the run at ', '')
  await run.said(/sent=\d/)
  const end = (origin: string) =>
    fetch(`${url}end`, { method: 'POST', body: '{}', headers: { origin, 'content-type': 'application/json' } })
  expect((await end('http://evil.example')).status).toBe(403)
  expect((await end(url.slice(0, -1))).status).toBe(200)
  const { code, stderr } = await run.ended
  expect([code, stderr.match(/Interrupted\./g)?.length]).toEqual([130, 1])
})
