import type { StreamEvent } from '../chat/stream.ts'
import type { RequestState, StreamChunk, WhileFull } from '../message.ts'
import { result } from './decisions.ts'
import { type LieRow, row } from './lie.ts'

type Events = readonly StreamEvent[]
type Part = StreamEvent['part']

/** Changes the events of a stream. `original`: the events before any lie. */
type EventsChange = (events: Events, original: Events) => Events

/** A lie that changes the events of a stream. */
export const events = (text: string, ...changes: readonly EventsChange[]): LieRow =>
  result(text, 'events', (sent, original) => changes.reduce((changed, change) => change(changed, original), sent))

export const withoutPart =
  (part: Part) =>
  (events: Events): Events =>
    events.filter(event => event.part !== part)

export const twicePart =
  (part: Part) =>
  (events: Events): Events =>
    events.flatMap(event => (event.part === part ? [event, event] : [event]))

export const partLast =
  (part: Part) =>
  (events: Events): Events =>
    events.toSorted((a, b) => Number(a.part === part) - Number(b.part === part))

/** Changes the data of the events that fit. */
export const changeData =
  (fits: (event: StreamEvent, index: number) => boolean, change: (data: string) => string) =>
  (events: Events): Events =>
    events.map((event, index) => (fits(event, index) ? { ...event, data: change(event.data) } : event))

/** A chunk without choices follows each token: more runs than a record keeps in full. */
export const restless = (events: Events): Events =>
  events.flatMap(event =>
    event.part === 'content'
      ? [event, { ...event, part: 'role', data: event.data.replace(/"choices":\[.*\]/, '"choices":[]') }]
      : [event],
  )

/** An error after the first token of a stream, or after its last one. */
export const withError =
  (after: 'first' | 'last') =>
  (events: Events): Events => {
    const isToken = ({ part }: StreamEvent) => part === 'content' || part === 'tool-call'
    const at = after === 'first' ? events.findIndex(isToken) : events.findLastIndex(isToken)
    const event = events[at]
    if (event === undefined) return events
    return events.toSpliced(at + 1, 0, { ...event, data: '{"error":{"type":"server_error","message":"No backend"}}' })
  }

/** Streams in flight from which on a service mixes them up. */
const crowd = 16

/** Changes the chunks of a stream that begins while others are in flight. `other`: those of the one that began last. */
export const inCrowd = (
  text: string,
  change: (chunks: readonly StreamChunk[], other: readonly StreamChunk[]) => readonly StreamChunk[],
): LieRow =>
  row(text, honest => {
    let streams: { readonly endMs: number; readonly chunks: readonly StreamChunk[] }[] = []
    return {
      finish: (reply, state) => {
        const finished = honest.finish(reply, state)
        const { body } = finished
        if (body.kind !== 'stream') return finished
        const { arrivedMs } = state
        streams = streams.filter(({ endMs }) => endMs > arrivedMs)
        const other = streams.at(-1)?.chunks ?? []
        const isCrowd = streams.length >= crowd
        streams.push({ endMs: arrivedMs + (body.chunks.at(-1)?.afterMs ?? 0), chunks: body.chunks })
        return isCrowd ? { ...finished, body: { ...body, chunks: change(body.chunks, other) } } : finished
      },
    }
  })

/** What happens to streams whose clients do not read as fast as they come. */
export const whileFull = (text: string, fateOf: (state: RequestState) => WhileFull): LieRow =>
  row(text, honest => ({
    finish: (reply, state) => {
      const finished = honest.finish(reply, state)
      const { body } = finished
      return body.kind === 'stream' ? { ...finished, body: { ...body, whileFull: fateOf(state) } } : finished
    },
  }))

const hasText = ({ text }: Pick<StreamChunk, 'text'>) => /"content":"[^"]/.test(text)

/** Only text is lost, so that nothing else shows it. */
export const losesText: WhileFull = text => (hasText({ text }) ? 'is-lost' : 'waits')

const idIn = /"id":"[^"]*"/

/** The first chunk with text, in place of the own one, with the own id and at the own time. */
export function leaked(chunks: readonly StreamChunk[], other: readonly StreamChunk[]): readonly StreamChunk[] {
  const at = chunks.findIndex(hasText)
  const own = chunks[at]
  const strange = other.find(hasText)
  if (own === undefined || strange === undefined) return chunks
  const text = strange.text.replace(idIn, idIn.exec(own.text)?.[0] ?? '')
  return chunks.with(at, { ...own, text })
}

/** Half of the arguments of each tool call. */
export const withHalfArguments = (chunks: readonly StreamChunk[]): readonly StreamChunk[] =>
  chunks.map(chunk => ({
    ...chunk,
    text: chunk.text.replace(/"arguments":("(?:[^"\\]|\\.)*")/, (_, said: string) => {
      const whole = String(JSON.parse(said))
      return `"arguments":${JSON.stringify(whole.slice(0, Math.ceil(whole.length / 2)))}`
    }),
  }))

/** All chunks but the last one with text. */
export function withoutLastText(chunks: readonly StreamChunk[]): readonly StreamChunk[] {
  const last = chunks.findLastIndex(hasText)
  return chunks.filter((_, index) => index !== last)
}

/** Another word in the first chunk with text. */
export function withOtherWord(chunks: readonly StreamChunk[]): readonly StreamChunk[] {
  const at = chunks.findIndex(hasText)
  return chunks.map((chunk, index) =>
    index === at ? { ...chunk, text: chunk.text.replace(/"content":"[^"]*"/, '"content":"other"') } : chunk,
  )
}
