import { expect, test } from 'vitest'
import { type ServerEvent, serverEvents } from '../../../../src/service/upstream/upstream.ts'

async function* reads(bytes: Buffer, size: number): AsyncIterable<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function eventsOf(body: AsyncIterable<Buffer>): Promise<readonly ServerEvent[]> {
  const found: ServerEvent[] = []
  for await (const events of serverEvents(body)) found.push(...events)
  return found
}

const stream = ': wait\n\ndata: {"a":"é"}\r\n\r\nevent: x\ndata: one\ndata:two\n\nid: 4\n\ndata: [DONE]'

test.each([1, 2, 3, 7, 1_000])('events are the same however they are cut: reads of %d bytes', async size => {
  expect(await eventsOf(reads(Buffer.from(stream), size))).toEqual([
    { kind: 'comment', text: ': wait' },
    { kind: 'data', text: '{"a":"é"}' },
    { kind: 'data', text: 'one\ntwo' },
    { kind: 'data', text: '[DONE]' },
  ])
})

test('an event without an end is refused', async () => {
  const endless = async function* () {
    for (;;) yield Buffer.alloc(1024 * 1024, 'x')
  }
  await expect(eventsOf(endless())).rejects.toThrow('an event without an end')
})
