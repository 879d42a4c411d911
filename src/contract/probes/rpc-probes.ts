import { type Probe, type Probes, refused, rpcItem, toRpc } from '../probe.ts'

/** The rejected methods of the batch probe, one of each kind that HTTP could carry. */
const offending = ['eth_newFilter', 'eth_accounts'] as const

/** A method that is not on the allow-list. */
const unsupported = (method: string): Probe => ({
  clause: 'rpc.unsupported-method',
  as: 'caller',
  draws: 'rpc',
  promised: refused,
  names: [],
  request: toRpc(() => rpcItem(method)),
})

export const rpcProbes = {
  'websocket-method': unsupported('eth_subscribe'),
  'filter-method': unsupported('eth_newFilter'),
  'key-holding-method': unsupported('eth_accounts'),
  'unlisted-method': unsupported('eth_noSuchMethod'),
  'unsupported-methods-in-batch': {
    clause: 'rpc.unsupported-method.named',
    as: 'caller',
    draws: 'rpc',
    promised: refused,
    names: offending,
    request: toRpc(() => ['eth_blockNumber', ...offending].map((method, index) => rpcItem(method, index + 1))),
  },
  'batch-too-long': {
    clause: 'rpc.batch.limit',
    as: 'caller',
    draws: 'rpc',
    promised: refused,
    names: [],
    request: toRpc(({ rpc }) =>
      Array.from({ length: rpc.batchLimit + 1 }, (_, index) => rpcItem('eth_blockNumber', index + 1)),
    ),
  },
} as const satisfies Probes
