import type { Contract } from '../contract.ts'
import { dearestCall, type Probe, type Probes, rpcItem, toRpc } from '../probe.ts'

/** Every character that a key may have, as often as it may have characters. */
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-'
const keyOf = (length: number) => alphabet.repeat(4).padEnd(length, 'A').slice(0, length)

/**
 * Always the same request, so that a short key, which cannot be new each time, is used or used again; 200 is right
 * for both.
 */
const request = (key: string) => toRpc(() => rpcItem('eth_chainId'), { 'idempotency-key': key })

const matches = (key: string, { idempotency }: Contract) => new RegExp(idempotency.keyPattern).test(key)

const good = (key: string): Probe => ({
  clause: 'rpc.replay.key',
  as: 'caller',
  draws: 'rpc',
  promised: contract => (matches(key, contract) ? [200] : []),
  names: [],
  credits: dearestCall,
  request: request(key),
})

const bad = (key: string): Probe => ({
  clause: 'rpc.replay.bad-key',
  as: 'caller',
  draws: 'rpc',
  promised: contract => {
    const { badKey } = contract.idempotency
    return badKey === null || matches(key, contract) ? [] : [badKey === 'rejected' ? 400 : 200]
  },
  names: [],
  credits: dearestCall,
  request: request(key),
})

/** Idempotency keys at the edges of what the documented pattern allows. */
export const keyProbes = {
  'key-of-one-character': good('k'),
  'key-of-255-characters': good(keyOf(255)),
  'key-of-nothing': bad(''),
  'key-of-256-characters': bad(keyOf(256)),
  'key-with-a-dot': bad('order.1'),
  'key-with-a-colon': bad('order:1'),
  'key-with-a-space': bad('order 1'),
  'key-in-base64': bad('b3JkZXI/MQ+='),
} as const satisfies Probes
