import type { StreamEvent } from '../chat/stream.ts'
import { type Lies, lie, replyLie } from './lie.ts'
import { isStream, withHeader } from './reply-edit.ts'

export const streamLies = {
  'chat.stream.content-type': [
    replyLie('stream-as-json', 'Streams are application/json.', reply =>
      isStream(reply) ? withHeader(reply, 'content-type', 'application/json') : reply,
    ),
  ],
  'chat.stream.chunk': [
    lie('id-changes', 'The id changes with the first token of the answer.', honest => ({
      events: events => {
        const from = events.findIndex(({ part }) => part === 'content')
        return honest
          .events(events)
          .map((event, index) => (index >= from ? rewrite(event, '"id":"chatcmpl-', '"id":"chatcmpl-B') : event))
      },
    })),
    lie('model-changes', 'The last chunks name another model.', honest => ({
      events: events =>
        honest
          .events(events)
          .map(event =>
            event.part === 'finish' || event.part === 'usage' ? rewrite(event, '"model":"', '"model":"other-') : event,
          ),
    })),
    lie('chunk-cut-off', 'A chunk is cut off.', honest => ({
      events: events => {
        const last = events.findLastIndex(({ part }) => part === 'content')
        return honest
          .events(events)
          .map((event, index) => (index === last ? { ...event, data: event.data.slice(0, -20) } : event))
      },
    })),
  ],
  'chat.stream.finish': [
    lie('finish-twice', 'The finish chunk is sent twice.', honest => ({
      events: events => honest.events(events).flatMap(event => (event.part === 'finish' ? [event, event] : [event])),
    })),
    lie('no-finish', 'The finish chunk is left out.', honest => ({
      events: events => honest.events(events).filter(({ part }) => part !== 'finish'),
    })),
    lie('token-after-finish', 'A token follows the finish chunk.', honest => ({
      events: events => {
        const token = events.findLast(({ part }) => part === 'content')
        return honest
          .events(events)
          .flatMap(event => (event.part === 'finish' && token !== undefined ? [event, token] : [event]))
          .filter((event, index, all) => event !== token || index > all.findIndex(({ part }) => part === 'finish'))
      },
    })),
  ],
  'chat.stream.usage': [
    lie('usage-twice', 'The usage chunk is sent twice.', honest => ({
      events: events => honest.events(events).flatMap(event => (event.part === 'usage' ? [event, event] : [event])),
    })),
    lie('no-usage', 'The usage chunk is left out.', honest => ({
      events: events => honest.events(events).filter(({ part }) => part !== 'usage'),
    })),
  ],
  'chat.stream.done': [
    lie('no-done', 'The done marker is left out.', honest => ({
      events: events => honest.events(events).filter(({ part }) => part !== 'done'),
    })),
    lie('usage-after-done', 'The usage chunk follows the done marker.', honest => ({
      events: events =>
        [...honest.events(events)].sort((a, b) => Number(a.part === 'usage') - Number(b.part === 'usage')),
    })),
    lie('done-twice', 'The done marker is sent twice.', honest => ({
      events: events => honest.events(events).flatMap(event => (event.part === 'done' ? [event, event] : [event])),
    })),
  ],
} as const satisfies Lies

const rewrite = (event: StreamEvent, from: string, to: string): StreamEvent => ({
  ...event,
  data: event.data.replace(from, to),
})
