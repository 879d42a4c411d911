import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  type Frame,
  maxPages,
  type PageServer,
  startPageServer,
} from '../../../../src/outputs/live-page/page-server.ts'
import { manualClock } from '../../../../src/prove/manual-clock.ts'

const open: (PageServer | ClientRequest | Socket)[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await ('close' in each ? each.close() : each.destroy())
})

async function server({ token = null as string | null } = {}) {
  const clock = manualClock()
  const end = vi.fn()
  const onWatched = vi.fn()
  const started = await startPageServer({
    ...{ scenario: 'a <b>', host: '127.0.0.1', port: 0 },
    ...{ token, clock, end, onWatched },
  })
  open.push(started)
  return { ...started, clock, end, onWatched }
}

const frame = (sections: Readonly<Record<string, string>>, note = ''): Frame => ({
  title: 't',
  note,
  isEnding: false,
  sections: Object.entries(sections).map(([id, markup]) => ({ id, markup })),
})

type Answer = { readonly status: number; readonly text: string; readonly headers: IncomingMessage['headers'] }

const ask = (
  port: number,
  path: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = httpRequest({ host: '127.0.0.1', port, path, method, headers, agent: false }, response => {
      let text = ''
      response.on('data', bytes => {
        text += bytes
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }))
    })
    sent.on('error', reject)
    sent.end(method === 'POST' ? '{}' : undefined)
  })

/** A page: its events, as they arrive. */
async function page(port: number, onEvent: (name: string) => void = () => {}) {
  const events: { readonly name: string; readonly data: unknown }[] = []
  const sent = httpRequest({ host: '127.0.0.1', port, path: '/events', agent: false })
  open.push(sent)
  let wake = () => {}
  const response = await new Promise<IncomingMessage>(resolve => sent.on('response', resolve).end())
  let text = ''
  response.on('data', bytes => {
    text += bytes
    const parts = text.split('\n\n')
    text = parts.pop() ?? ''
    for (const part of parts) {
      const [, name = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(part) ?? []
      events.push({ name, data: JSON.parse(data) })
      onEvent(name)
    }
    wake()
  })
  response.on('error', () => {})
  const has = async (count: number) => {
    while (events.length < count)
      await new Promise<void>(resolve => {
        wake = resolve
      })
    return events
  }
  return { events, has, status: response.statusCode, close: () => sent.destroy() }
}

const own = (port: number) => ({ origin: `http://127.0.0.1:${port}`, 'content-type': 'application/json' })

describe('the live page: what it serves', () => {
  test('one page with a strict policy, and nothing else', async () => {
    const { port } = await server()
    const { status, text, headers } = await ask(port, '/')
    expect(status).toBe(200)
    expect(text).toContain('<title>a &lt;b&gt;</title>')
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/)
    expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|https?:/)
    expect(text).not.toMatch(/src=|https?:\/\//)
    expect((await ask(port, '/../../etc/passwd')).status).toBe(404)
    expect((await ask(port, '/', { method: 'PUT' })).status).toBe(405)
  })

  test('a name of another site gets nothing, whatever it asks for', async () => {
    const { port, end } = await server()
    const headers = { ...own(port), host: 'evil.example', origin: 'http://evil.example' }
    for (const path of ['/', '/events', '/end']) expect((await ask(port, path, { headers })).status).toBe(403)
    expect((await ask(port, '/end', { method: 'POST', headers })).status).toBe(403)
    expect(end).not.toHaveBeenCalled()
  })
})

describe('the live page: its events', () => {
  test('a page gets everything once, and then what has changed', async () => {
    const { port, show } = await server()
    show(frame({ a: '1', b: '1' }))
    const first = await page(port)
    await first.has(1)
    show(frame({ a: '1', b: '2' }))
    await first.has(2)
    show(frame({ b: '2' }, 'again'))
    const sections = (await first.has(3)).map(({ data }) => (data as { sections: unknown }).sections)
    expect(sections).toEqual([
      [
        { id: 'a', markup: '1' },
        { id: 'b', markup: '1' },
      ],
      [{ id: 'b', markup: '2' }],
      [],
    ])
    expect(first.events.map(({ data }) => (data as { order: unknown }).order)).toEqual([['a', 'b'], ['a', 'b'], ['b']])
  })

  test('a page that does not read gets no second frame, and holds up no other page', async () => {
    const { port, show } = await server()
    const slow = connect(port, '127.0.0.1')
    open.push(slow)
    slow.write('GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    await new Promise(resolve => slow.once('data', resolve))
    slow.pause()
    const quick = await page(port)
    // More than the buffers of both ends hold.
    const large = 'x'.repeat(4_000_000)
    for (let sent = 1; sent <= 8; sent++) {
      show(frame({ a: `${sent}${large}` }))
      await quick.has(sent)
    }
    let received = 0
    let last = ''
    const drained = new Promise<void>(resolve => {
      slow.on('data', bytes => {
        received += bytes.length
        last = `${last}${bytes}`.slice(-100)
        if (last.includes('the end')) resolve()
      })
    })
    slow.resume()
    // The rest of the frame that it had, and then the latest one.
    while (received < large.length) await new Promise(resolve => slow.once('data', resolve))
    await ask(port, '/')
    show(frame({ b: 'the end' }))
    await drained
    expect(received).toBeLessThan(4 * large.length)
  })

  test(`at most ${maxPages} pages are open; one that closes makes room`, async () => {
    const { port, onWatched, isWatched } = await server()
    const pages = await Promise.all(Array.from({ length: maxPages }, () => page(port)))
    expect(pages.every(({ status }) => status === 200)).toBe(true)
    expect(onWatched).toHaveBeenCalledTimes(1)
    expect((await ask(port, '/events')).status).toBe(503)
    expect((await ask(port, '/')).status).toBe(200)
    for (const { close } of pages) close()
    while (isWatched()) await new Promise(resolve => setImmediate(resolve))
    expect((await page(port)).status).toBe(200)
    expect(onWatched).toHaveBeenCalledTimes(2)
  })
})

describe('the live page: its end', () => {
  test('every page gets the report, and the server waits until it has it', async () => {
    const { port, conclude } = await server()
    const pages = await Promise.all(
      [0, 1].map(async () => {
        const made = await page(port, name => {
          if (name === 'report') made.close()
        })
        return made
      }),
    )
    const report = `<p>${'x'.repeat(2_000_000)}</p>`
    await conclude(report, new AbortController().signal)
    for (const { events } of pages) expect(events).toEqual([{ name: 'report', data: report }])
  })

  test('a page that does not leave is not waited for longer than a second', async () => {
    const { port, conclude, clock } = await server()
    const stays = await page(port)
    let isOver = false
    const done = conclude('r', new AbortController().signal).then(() => {
      isOver = true
    })
    await stays.has(1)
    await clock.advanceTo(999)
    expect(isOver).toBe(false)
    await clock.advanceTo(1_000)
    await done
  })

  test('nobody is waited for without a page, or once the run is to quit', async () => {
    const { port, conclude } = await server()
    await conclude('r', new AbortController().signal)
    const late = await page(port)
    expect((await late.has(1))[0]).toEqual({ name: 'report', data: 'r' })
    await page(port)
    await conclude('r', AbortSignal.abort())
  })

  test('closing ends the connections of all pages', async () => {
    const { port, close } = await server()
    await page(port)
    await close()
    await expect(ask(port, '/')).rejects.toThrow()
  })
})

describe('the live page: its button', () => {
  test('the page of this machine ends the run', async () => {
    const { port, end } = await server()
    expect((await ask(port, '/')).text).toContain('<button id="end">')
    expect((await ask(port, '/end', { method: 'POST', headers: own(port) })).status).toBe(200)
    expect(end).toHaveBeenCalledTimes(1)
  })

  test.each([
    ['by another method', 'GET', {}, 405],
    ['from a page of another site', 'POST', { origin: 'http://evil.example' }, 403],
    ['without an origin', 'POST', { origin: '' }, 403],
    ['as a form, which any site can send', 'POST', { 'content-type': 'text/plain' }, 415],
    ['from a frame of another site', 'POST', { 'sec-fetch-site': 'cross-site' }, 403],
  ] as const)('it is refused %s', async (_, method, changes, status) => {
    const { port, end } = await server({ token: 'token-1' })
    expect((await ask(port, '/end', { method, headers: { ...own(port), ...changes } })).status).toBe(status)
    expect(end).not.toHaveBeenCalled()
  })
})
