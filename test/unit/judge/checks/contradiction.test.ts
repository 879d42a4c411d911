import { expect, test } from 'vitest'
import { contradictionIn } from '../../../support/contradiction.ts'
import { chatDescriptor, failedClauses, honestHeaders, observed, responseOf, tokenHeaders } from './observed.ts'

test.each([
  ['content-type is "text/event-stream", expected text/event-stream', '"text/event-stream"'],
  ['a success has status 200, expected 200', 'status 200'],
  ['20 requests of rpc were accepted, expected at most 20 and then a 429', '20'],
  ['x-service-version is "1" on a 200, expected 1', '"1"'],
])('%s contradicts itself', (message, seen) => {
  expect(contradictionIn(message)).toBe(seen)
})

test.each([
  'content-type is "text/plain", expected text/event-stream',
  'a success has status 201, expected 200',
  'the id was returned as "1", expected 2',
  '21 requests of rpc were accepted, expected at most 20 and then a 429',
  'a batch got more than 10 responses, expected one for each',
])('%s does not', message => {
  expect(contradictionIn(message)).toBeNull()
})

test('a stream that was not read as one is accused of what it has, and not of its right type', () => {
  const type = { ...honestHeaders, ...tokenHeaders, 'content-type': 'text/event-stream' }
  const unread = observed({ ...chatDescriptor, stream: true }, responseOf(200, 'data: [DONE]', type))
  expect(failedClauses(unread)['chat.stream.content-type']).toBe('the body was not read as a stream, expected events')
})
