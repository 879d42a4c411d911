import { createServer, type Socket } from 'node:net'
import { type Clock, monotonicOriginMs } from '../lib/clock.ts'
import { createCalibrationAccount, limitsResponse, type StreamTexts, streamTexts } from './server-answers.ts'

export type PaceOptions = {
  readonly clock: Clock
  /** Tokens of each stream. */
  readonly perSecond: number
  /** Tokens that are written at once, each a chunk of its own. */
  readonly tokensPerWrite: number
}

/** Takes a text and says whether it can take more. */
export type WriteText = (text: string) => boolean

export type Pacer = {
  /** Begins a stream, whose first token is due in one step. */
  readonly begin: (outlet: WriteText, texts: StreamTexts, tokens: number) => void
  readonly stop: () => void
}

/** A stream that is under way. */
type StreamState = { readonly outlet: WriteText; readonly texts: StreamTexts; tokensLeft: number; dueMs: number }

/**
 * Writes the tokens of all streams when they are due. Who comes late catches up, so that each stream keeps its pace, and
 * says in the beat how late it was.
 */
export function createPacer({ clock, perSecond, tokensPerWrite }: PaceOptions): Pacer {
  const stepMs = (1000 * tokensPerWrite) / perSecond
  const originMs = monotonicOriginMs(clock)
  /** In the order in which they are due. */
  let voices: StreamState[] = []
  let cancel: (() => void) | null = null

  const arm = (): void => {
    const [first] = voices
    cancel = first === undefined ? null : clock.at(first.dueMs, stamp)
  }

  const stamp = (): void => {
    const nowMs = clock.nowMs()
    const next = voices.findIndex(({ dueMs }) => dueMs > nowMs)
    const count = next === -1 ? voices.length : next
    const goingOn = voices.slice(0, count).filter(write)
    // Two runs that are nearly in order, which a sort goes through about once.
    voices = [...voices.slice(count), ...goingOn].sort((a, b) => a.dueMs - b.dueMs)
    arm()
  }

  /** Whether the voice goes on. */
  const write = (voice: StreamState): boolean => {
    const { outlet, texts, dueMs } = voice
    const nowMs = clock.nowMs()
    const count = Math.min(tokensPerWrite, voice.tokensLeft)
    voice.tokensLeft -= count
    voice.dueMs += stepMs
    const text = texts.tokens(count, { writtenMs: originMs + nowMs, lateMs: nowMs - dueMs })
    return outlet(voice.tokensLeft > 0 ? text : text + texts.closing) && voice.tokensLeft > 0
  }

  return {
    begin: (outlet, texts, tokens) => {
      voices.push({ outlet, texts, tokensLeft: tokens, dueMs: clock.nowMs() + stepMs })
      if (cancel === null) arm()
    },
    stop: () => {
      voices = []
      cancel?.()
    },
  }
}

export type PlainRequest = { readonly method: string; readonly body: string }

const headEnd = '\r\n\r\n'
const longestRequest = 1_048_576

/**
 * Takes the bytes of a connection and gives its requests, one after the other. Of HTTP/1.1 it knows what a client of ours
 * sends: a head, and a body of an announced length. False: it is something else, or too long.
 */
export function readRequests(onRequest: (request: PlainRequest) => void): (bytes: Buffer) => boolean {
  let text = ''
  return bytes => {
    text += bytes.toString('latin1')
    for (let end = text.indexOf(headEnd); end !== -1; end = text.indexOf(headEnd)) {
      const head = text.slice(0, end)
      const bodyStart = end + headEnd.length
      const bodyEnd = bodyStart + Number(/^content-length: *(\d{1,9})$/im.exec(head)?.[1] ?? 0)
      if (bodyEnd > longestRequest) return false
      if (text.length < bodyEnd) break
      const [method = ''] = head.split(' ', 1)
      const body = text.slice(bodyStart, bodyEnd)
      text = text.slice(bodyEnd)
      onRequest({ method, body })
    }
    return text.length <= longestRequest
  }
}

export type CalibrationServer = { readonly port: number; readonly close: () => void }

/** Connections that wait to be accepted: a load of thousands may come while this process has no turn. */
const mostWaiting = 4_096
/** A client that reads nothing is cut off. */
const mostUnreadBytes = 4_194_304

/**
 * A target on loopback that answers each chat request with a stream at an exact pace and says of each token when it was
 * written and how late that was. It keeps every promise that is judged and does next to nothing else, so that what a
 * reader stamps later than was written is the reader's doing, or the kernel's. Port 0 is a free one.
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
    // A client may go away whenever it likes.
    socket.on('error', () => socket.destroy())
    const write = (text: string): boolean => {
      if (socket.writableLength > mostUnreadBytes) socket.destroy()
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
    server.listen({ port, host: '127.0.0.1', backlog: mostWaiting }, () => {
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

const usualTokens = 100
const mostTokens = 100_000

/** The longest completion that a request allows is the one that it gets. */
function tokensIn(body: string): number {
  const [, request] = /"max_completion_tokens":(\d{1,9})\b/.exec(body) ?? []
  return request === undefined ? usualTokens : Math.min(Math.max(1, Number(request)), mostTokens)
}
