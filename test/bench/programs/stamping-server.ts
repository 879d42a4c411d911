import { createServer } from 'node:net'
import type { TokenStamps } from '../../../src/calibration/result.ts'
import { createPacer, readRequests } from '../../../src/calibration/server.ts'
import { createCalibrationAccount, limitsResponse, streamTexts } from '../../../src/calibration/server-answers.ts'
import { monotonicOriginMs, systemClock } from '../../../src/lib/clock.ts'

/**
 * What the server knows about a stream, on the monotonic clock of the machine. `previousEndMs`: when it wrote the end of the
 * answer before it in the same session; null: it is the first turn.
 */
export type ServedStream = TokenStamps & {
  readonly arrivedMs: number
  readonly openedMs: number
  readonly previousEndMs: number | null
}

/**
 * The calibration server, which also keeps its stamps, so that a run of the shipped command can be compared with them.
 * Arguments: tokens per second, tokens per write, tokens of a stream. Sends its port by IPC, and on a message its
 * streams by the id of their response.
 */
const [perSecond = 0, tokensPerWrite = 0, tokens = 0] = process.argv.slice(2).map(Number)
const clock = systemClock()
const originMs = monotonicOriginMs(clock)
const account = createCalibrationAccount(clock)
const pacer = createPacer({ clock, perSecond, tokensPerWrite })
const streams = new Map<string, ServedStream>()

/** When the latest answer of a session was written to its end. No two sessions begin with the same text. */
const endedMs = new Map<string, number>()

/** The text that a session begins with, and whether this turn is its first. */
function sessionIn(body: string): { readonly opening: string; readonly isFirst: boolean } {
  const { messages }: { messages: readonly { role: string; content: unknown }[] } = JSON.parse(body)
  const said = messages.filter(({ role }) => role === 'user')
  return { opening: JSON.stringify(said[0]?.content), isFirst: said.length === 1 }
}

const server = createServer(socket => {
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  const write = (text: string): boolean => {
    if (!socket.destroyed) socket.write(text)
    return !socket.destroyed
  }
  const read = readRequests(({ method, body }) => {
    const arrivedMs = originMs + clock.nowMs()
    if (method !== 'POST') {
      write(limitsResponse(account.draw(0)))
      return
    }
    const state = account.draw(tokens)
    const texts = streamTexts(state, tokens)
    const openedMs = originMs + clock.nowMs()
    const { opening, isFirst } = sessionIn(body)
    const previousEndMs = isFirst ? null : (endedMs.get(opening) ?? null)
    const stream: ServedStream = { arrivedMs, openedMs, previousEndMs, writtenMs: [], lateMs: [] }
    streams.set(`${state.serial}-MET`, stream)
    write(texts.opening)
    const tokenTexts: typeof texts.tokens = (count, stamp) => {
      for (let i = 0; i < count; i++) {
        stream.writtenMs.push(stamp.writtenMs)
        stream.lateMs.push(stamp.lateMs)
      }
      if (stream.writtenMs.length === tokens) endedMs.set(opening, stamp.writtenMs)
      return texts.tokens(count, stamp)
    }
    pacer.begin(write, { ...texts, tokens: tokenTexts }, tokens)
  })
  socket.on('data', bytes => {
    if (!read(bytes)) socket.destroy()
  })
})
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : 0 })
})
process.on('message', () => process.send?.(streams))
process.once('disconnect', () => process.exit())
