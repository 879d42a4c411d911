import { expect, test } from 'vitest'
import { openAccount } from '../../../src/service/account.ts'
import type { Reply } from '../../../src/service/message.ts'
import { rpcTurns } from '../../../src/service/rpc-turns.ts'
import type { Visit } from '../../../src/service/visit.ts'

const answered: Reply = { status: 200, headers: {}, afterMs: 10, body: { kind: 'whole', text: '' } }
const account = (name: string) => openAccount({ tier: 'default', name, means: 'usual' }, 0n, 0n)
const visitAt = (arrivedMs: number): Visit => ({
  request: { method: 'POST', path: '', headers: {}, body: '' },
  route: { kind: 'unknown' },
  account: null,
  arrivedMs,
  headers: {},
})

const turns = (waitMs: number | null) =>
  rpcTurns(waitMs === null ? null : { waitMs, message: 'busy' }, (_, message) => ({
    ...answered,
    status: 429,
    headers: { message },
  }))

test('requests of one account wait for those before them, and are turned away when that takes too long', () => {
  const [take, anna] = [turns(15), account('anna')]
  expect(take(visitAt(0), anna, () => answered)).toMatchObject({ status: 200, afterMs: 10 })
  expect(take(visitAt(0), anna, () => answered)).toMatchObject({ status: 200, afterMs: 20 })
  expect(take(visitAt(0), anna, () => answered)).toMatchObject({ status: 429, headers: { message: 'busy' } })
  expect(take(visitAt(5), anna, () => answered)).toMatchObject({ status: 200, afterMs: 25 })
})

test('those of another account have turns of their own', () => {
  const take = turns(0)
  expect(take(visitAt(0), account('anna'), () => answered).status).toBe(200)
  expect(take(visitAt(0), account('bob'), () => answered).status).toBe(200)
})

test('nobody waits where the contract has no turns', () => {
  const [take, anna] = [turns(null), account('anna')]
  for (let request = 0; request < 3; request++)
    expect(take(visitAt(0), anna, () => answered)).toMatchObject({ status: 200, afterMs: 10 })
})
