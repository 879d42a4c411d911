import { expect, test } from 'vitest'
import { busyConnections } from '../../../src/run/busy-connections.ts'
import type { Exchange, PendingRequest, Transport } from '../../../src/transport/transport.ts'
import { plainRequest } from '../transport/loopback.ts'

const never = new AbortController().signal
const answered = { failure: null } as Exchange

/** What connections are told when they ask for errands, as long as there are any. */
async function errandsOf(fireNext: (transport: Transport) => boolean): Promise<readonly PendingRequest[]> {
  const asked: PendingRequest[] = []
  const { transport, keepBusy } = busyConnections(async next => {
    for (let errand = next(); errand !== null; errand = next()) asked.push(errand)
  })
  await keepBusy(() => fireNext(transport), 1, never)
  return asked
}

test('a connection is handed the request of the arrival that is fired, and its answer is that of the arrival', async () => {
  const ends: Promise<Exchange>[] = []
  const [first, second] = await errandsOf(transport => {
    if (ends.length === 2) return false
    ends.push(transport({ ...plainRequest, path: `/${ends.length}` }, never))
    return true
  })
  expect([first?.request.path, second?.request.path]).toEqual(['/0', '/1'])
  second?.onEnd(answered)
  expect(await ends[1]).toBe(answered)
})

test('an arrival that was dropped has no request, and the connection is handed that of the next', async () => {
  let fired = 0
  const errands = await errandsOf(transport => {
    if (fired++ % 2 === 1) void transport({ ...plainRequest, path: `/${fired}` }, never)
    return fired < 5
  })
  expect(errands.map(({ request }) => request.path)).toEqual(['/2', '/4'])
})
