import type { StreamEvent } from '../chat/stream.ts'
import { result } from './decisions.ts'
import type { LieRow } from './lie.ts'

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
