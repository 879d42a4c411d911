import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Cancel, Clock } from '../../lib/clock.ts'
import type { PageSection } from '../../report/render/html.ts'
import { type HttpServer, listen, respond } from '../http-server.ts'
import { isFromThisMachine, mayAct, namesThisServer, type PageRequest, safeHeaders } from '../page-guard.ts'
import { type EndButton, livePolicy, liveShell } from './shell.ts'

/** More pages are refused: each may hold one frame in memory. */
export const maxPages = 16

/** How long the server waits in the end until its pages have received the report. */
const maxFarewellMs = 1_000

export type PageServerOptions = {
  readonly scenario: string
  readonly host: string
  readonly port: number
  /** The token that allows users on other machines to end the run; null: they cannot. */
  readonly token: string | null
  readonly clock: Clock
  /** Called by the button, as ^C would. */
  readonly end: () => void
  /** Called when a page opens while no other is open. */
  readonly onWatched: () => void
}

/** What pages show. */
export type Frame = {
  readonly title: string
  readonly note: string
  readonly isEnding: boolean
  readonly sections: readonly PageSection[]
}

export type PageServer = HttpServer & {
  /** Whether a page is open. */
  readonly isWatched: () => boolean
  /** Sends each page what has changed since its last frame. A page that has not read its last frame is skipped. */
  readonly show: (frame: Frame) => void
  /** Gives the report to all pages. Resolves when they have it, after a second, or when `quit` aborts. */
  readonly conclude: (report: string, quit: AbortSignal) => Promise<void>
}

/** An open page, and the version of each section that it has. */
type Page = { readonly response: ServerResponse; readonly has: Map<string, number> }

/** Serves one page and the events that fill it. Rejects if it cannot listen. */
export async function startPageServer(options: PageServerOptions): Promise<PageServer> {
  const { scenario, host, port, token, clock, end, onWatched } = options
  const pages = new Set<Page>()
  /** The latest sections, and how often each has changed. */
  const versions = new Map<string, { readonly markup: string; readonly version: number }>()
  let latest: Frame | null = null
  let report: string | null = null
  let notifyClosed = () => {}

  const server = await listen({ host, port }, (request, response) => {
    const asked = pageRequestOf(request)
    if (!namesThisServer(asked, host)) return refuse(response, 403, 'This name is not the name of this server.\n')
    const path = request.url?.split('?')[0]
    if (path === '/end') return answerEnd(request, asked, response)
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return refuse(response, 405, 'Only GET and HEAD are allowed.\n')
    if (path === '/') return respond(response, 200, htmlType, liveShell(scenario, buttonFor(asked, token)), pageHeaders)
    if (path !== '/events') return refuse(response, 404, 'The page is at /.\n')
    if (pages.size >= maxPages) return refuse(response, 503, `${maxPages} pages are open already.\n`)
    openEvents(response)
  })

  function answerEnd(request: IncomingMessage, asked: PageRequest, response: ServerResponse): void {
    request.resume()
    // Another site could send a form with any other type without being asked first.
    const isJson = request.headers['content-type'] === 'application/json'
    if (request.method !== 'POST') refuse(response, 405, 'Only POST is allowed.\n')
    else if (!isJson) refuse(response, 415, 'Send application/json.\n')
    else if (!mayAct(asked, token)) refuse(response, 403, 'End the run from its machine, or with the token.\n')
    else {
      respond(response, 200, 'text/plain', 'The run ends.\n')
      end()
    }
  }

  function openEvents(response: ServerResponse): void {
    response.writeHead(200, { ...safeHeaders, 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.flushHeaders()
    const page: Page = { response, has: new Map() }
    pages.add(page)
    response.once('close', () => {
      pages.delete(page)
      notifyClosed()
    })
    if (report !== null) response.end(eventText('report', report))
    else if (latest !== null) sendTo(page, latest)
    if (pages.size === 1) onWatched()
  }

  function sendTo({ response, has }: Page, frame: Frame): void {
    // It has not read the last frame. The next one will have all that this one has.
    if (response.writableLength > 0 || (response.socket?.writableLength ?? 0) > 0) return
    const sections = frame.sections.filter(({ id }) => has.get(id) !== versions.get(id)?.version)
    const order = frame.sections.map(({ id }) => id)
    response.write(eventText('frame', { ...frame, order, sections }))
    for (const { id } of sections) has.set(id, versions.get(id)?.version ?? 0)
  }

  return {
    port: server.port,
    close: server.close,
    isWatched: () => pages.size > 0,
    show: frame => {
      latest = frame
      for (const { id, markup } of frame.sections) {
        const known = versions.get(id)
        if (known?.markup !== markup) versions.set(id, { markup, version: (known?.version ?? 0) + 1 })
      }
      for (const page of pages) sendTo(page, frame)
    },
    conclude: (text, quit) =>
      new Promise(resolve => {
        report = text
        let cancel: Cancel = () => {}
        const finish = () => {
          cancel()
          quit.removeEventListener('abort', finish)
          notifyClosed = () => {}
          resolve()
        }
        if (pages.size === 0 || quit.aborted) return finish()
        notifyClosed = () => {
          if (pages.size === 0) finish()
        }
        quit.addEventListener('abort', finish)
        cancel = clock.at(clock.nowMs() + maxFarewellMs, finish)
        const event = eventText('report', text)
        // A page closes its connection as soon as it has the report.
        for (const { response } of pages) response.write(event)
      }),
  }
}

const htmlType = 'text/html; charset=utf-8'

const pageHeaders = {
  ...safeHeaders,
  'cache-control': 'no-store',
  'content-security-policy': livePolicy,
  'cross-origin-opener-policy': 'same-origin',
}

const refuse = (response: ServerResponse, status: number, why: string): void =>
  respond(response, status, 'text/plain; charset=utf-8', why, safeHeaders)

const eventText = (event: string, data: unknown): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

const buttonFor = (asked: PageRequest, token: string | null): EndButton =>
  isFromThisMachine(asked) ? 'shown' : token === null ? 'hidden' : 'with-token'

const pageRequestOf = ({ headers, socket }: IncomingMessage): PageRequest => ({
  host: headers.host,
  origin: headers.origin,
  site: [headers['sec-fetch-site']].flat()[0],
  authorization: headers.authorization,
  peer: socket.remoteAddress,
})
