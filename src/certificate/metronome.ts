import { createServer, type Socket } from 'node:net'
import { openAccount } from './metronome-account.ts'
import { statementAnswer, streamTexts } from './metronome-answer.ts'
import { createPacer, type Pace } from './pacer.ts'
import { readRequests } from './read-requests.ts'

export type Metronome = { readonly port: number; readonly close: () => void }

/** Connections that wait to be accepted: a load of thousands may come while this process has no turn. */
const mostWaiting = 4_096
/** A client that reads nothing is cut off. */
const mostUnreadBytes = 4_194_304

/**
 * A target on loopback that answers each chat request with a stream at an exact pace and says of each token when it was
 * written and how late that was. It keeps every promise that is judged and does next to nothing else, so that what a
 * reader stamps later than was written is the reader's doing, or the kernel's. Port 0 is a free one.
 */
export function startMetronome({ port, ...pace }: Pace & { readonly port: number }): Promise<Metronome> {
  const account = openAccount(pace.clock)
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
        write(statementAnswer(account.draw(0)))
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
  const [, asked] = /"max_completion_tokens":(\d{1,9})\b/.exec(body) ?? []
  return asked === undefined ? usualTokens : Math.min(Math.max(1, Number(asked)), mostTokens)
}
