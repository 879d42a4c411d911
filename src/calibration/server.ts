import { createServer, type Socket } from 'node:net'
import { type Clock, monotonicOriginMs } from '../lib/clock.ts'
import { createCalibrationAccount, limitsResponse, type StreamTexts, streamTexts } from './server-answers.ts'

export type PaceOptions = {
  readonly clock: Clock
  /** Tokens of each stream. */
  readonly perSecond: number
  /** Tokens per write, each a separate chunk. */
  readonly tokensPerWrite: number
}

/** Writes a text and returns whether it accepts more. */
type WriteText = (text: string) => boolean

export type Pacer = {
  /** Starts a stream. Its first token is due after one step. */
  readonly begin: (write: WriteText, texts: StreamTexts, tokens: number) => void
  readonly stop: () => void
}

/** An open stream. */
type StreamState = { readonly write: WriteText; readonly texts: StreamTexts; tokensLeft: number; dueMs: number }

/**
 * Writes the tokens of all streams when they are due. A late stream catches up, so that it keeps its pace. Each stamp
 * states how late its token is.
 */
export function createPacer({ clock, perSecond, tokensPerWrite }: PaceOptions): Pacer {
  const stepMs = (1000 * tokensPerWrite) / perSecond
  const originMs = monotonicOriginMs(clock)
  /** Sorted by due time. */
  let streams: StreamState[] = []
  let cancel: (() => void) | null = null

  const arm = (): void => {
    const [first] = streams
    cancel = first === undefined ? null : clock.at(first.dueMs, writeDue)
  }

  const writeDue = (): void => {
    const nowMs = clock.nowMs()
    const next = streams.findIndex(({ dueMs }) => dueMs > nowMs)
    const count = next === -1 ? streams.length : next
    const unfinished = streams.slice(0, count).filter(writeTokens)
    // Both parts are nearly sorted, so sorting takes about one pass.
    streams = [...streams.slice(count), ...unfinished].sort((a, b) => a.dueMs - b.dueMs)
    arm()
  }

  /** Writes the due tokens of a stream. Returns whether it has more. */
  const writeTokens = (stream: StreamState): boolean => {
    const { write, texts, dueMs } = stream
    const nowMs = clock.nowMs()
    const count = Math.min(tokensPerWrite, stream.tokensLeft)
    stream.tokensLeft -= count
    stream.dueMs += stepMs
    const text = texts.tokens(count, { writtenMs: originMs + nowMs, lateMs: nowMs - dueMs })
    return write(stream.tokensLeft > 0 ? text : text + texts.closing) && stream.tokensLeft > 0
  }

  return {
    begin: (write, texts, tokens) => {
      streams.push({ write, texts, tokensLeft: tokens, dueMs: clock.nowMs() + stepMs })
      if (cancel === null) arm()
    },
    stop: () => {
      streams = []
      cancel?.()
    },
  }
}

export type PlainRequest = { readonly method: string; readonly body: string }

const headEnd = '\r\n\r\n'
const maxRequestLength = 1_048_576

/**
 * Finds the requests in the bytes of a connection. It supports what Turnpike sends: a head, and a body with a
 * Content-Length. The returned function returns false if a request is too long.
 */
export function readRequests(onRequest: (request: PlainRequest) => void): (bytes: Buffer) => boolean {
  let text = ''
  return bytes => {
    text += bytes.toString('latin1')
    for (let end = text.indexOf(headEnd); end !== -1; end = text.indexOf(headEnd)) {
      const head = text.slice(0, end)
      const bodyStart = end + headEnd.length
      const bodyEnd = bodyStart + Number(/^content-length: *(\d{1,9})$/im.exec(head)?.[1] ?? 0)
      if (bodyEnd > maxRequestLength) return false
      if (text.length < bodyEnd) break
      const [method = ''] = head.split(' ', 1)
      const body = text.slice(bodyStart, bodyEnd)
      text = text.slice(bodyEnd)
      onRequest({ method, body })
    }
    return text.length <= maxRequestLength
  }
}

export type CalibrationServer = { readonly port: number; readonly close: () => void }

/** Thousands of connections may arrive before this process accepts the first. */
const maxWaitingConnections = 4_096
/** A client with more unread bytes is disconnected. */
const maxUnreadBytes = 4_194_304

/**
 * A target on loopback that responds to each chat request with a stream at an exact pace. Each token states when it was
 * written, and how late. The server keeps every promise that is judged and does little else, so a delay is that of the
 * reader or the kernel. Port 0 is a free one.
 */
export function startCalibrationServer({
  port,
  ...pace
}: PaceOptions & { readonly port: number }): Promise<CalibrationServer> {
  const account = createCalibrationAccount(pace.clock)
  const pacer = createPacer(pace)
  const sockets = new Set<Socket>()

  const server = createServer(socket => {
    socket.setNoDelay(true)
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // A client may disconnect at any time.
    socket.on('error', () => socket.destroy())
    const write = (text: string): boolean => {
      if (socket.writableLength > maxUnreadBytes) socket.destroy()
      else if (!socket.destroyed) socket.write(text)
      return !socket.destroyed
    }
    const read = readRequests(({ method, body }) => {
      if (method !== 'POST') {
        write(limitsResponse(account.draw(0)))
        return
      }
      const tokens = tokensIn(body)
      const texts = streamTexts(account.draw(tokens), tokens)
      write(texts.opening)
      pacer.begin(write, texts, tokens)
    })
    socket.on('data', bytes => {
      if (!read(bytes)) socket.destroy()
    })
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host: '127.0.0.1', backlog: maxWaitingConnections }, () => {
      const address = server.address()
      resolve({
        port: typeof address === 'object' && address !== null ? address.port : port,
        close: () => {
          pacer.stop()
          server.close()
          for (const socket of sockets) socket.destroy()
        },
      })
    })
  })
}

const defaultTokens = 100
const maxTokens = 100_000

/** The number of tokens of the response: the maximum that the request allows. */
function tokensIn(body: string): number {
  const [, request] = /"max_completion_tokens":(\d{1,9})\b/.exec(body) ?? []
  return request === undefined ? defaultTokens : Math.min(Math.max(1, Number(request)), maxTokens)
}
