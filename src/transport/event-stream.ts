import type { Exchange } from './transport.ts'

/** Whether the body is an event stream. Anything else, such as the error of a streamed request, is a body to be kept. */
export const isEventStream = ({ status, headers }: Pick<Exchange, 'status' | 'headers'>): boolean =>
  status === 200 && /^text\/event-stream\s*(;|$)/i.test(headers['content-type'] ?? '')
