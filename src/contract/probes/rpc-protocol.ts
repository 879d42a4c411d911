import { mostExpensiveCall, type Probe, type Probes, type RightAnswer, rpcItem, rpcRequest } from '../probe.ts'

/** A node may say it with any status that is not about its own state. */
const statuses = [200, 202, 204, 400, 404, 405, 413, 422] as const

type Clause = Extract<Probe['clause'], `rpc.protocol.${string}`>

const asked = (clause: Clause, right: RightAnswer, request: Probe['request']): Probe => ({
  clause,
  as: 'caller',
  draws: 'rpc',
  promised: () => statuses,
  right,
  names: [],
  credits: mostExpensiveCall,
  request,
})

const sent = (clause: Clause, right: RightAnswer, body: unknown): Probe =>
  asked(
    clause,
    right,
    rpcRequest(() => body),
  )

/** A request with this text as its body. */
const written = (clause: Clause, right: RightAnswer, body: string): Probe =>
  asked(clause, right, contract => ({ ...rpcRequest(() => null)(contract), body }))

const call = rpcItem('eth_chainId')
const { id: _, ...notification } = call
const { jsonrpc: __, ...withoutVersion } = call

const invalid = { kind: 'error', codes: [-32_600] } as const

const withId = (id: number | string): Probe =>
  sent('rpc.protocol.id', { kind: 'response', id, isList: false }, { ...call, id })

const deep = 100
const withParams = (params: string): Probe =>
  written('rpc.protocol.params', { kind: 'answer', id: 1 }, JSON.stringify(call).replace('[]', params))

/** Requests that JSON-RPC 2.0 has a rule for, whatever the node. */
export const rpcProtocolProbes = {
  'rpc-batch-of-nothing': sent('rpc.protocol.empty-batch', invalid, []),
  'rpc-notification': sent('rpc.protocol.notification', { kind: 'nothing' }, notification),
  'rpc-notification-in-batch': sent('rpc.protocol.notification', { kind: 'response', id: 'asked', isList: true }, [
    notification,
    { ...call, id: 'asked' },
  ]),
  'rpc-without-version': sent('rpc.protocol.version', invalid, withoutVersion),
  'rpc-of-version-2-point-1': sent('rpc.protocol.version', invalid, { ...call, jsonrpc: '2.1' }),
  'rpc-unknown-method': sent(
    'rpc.protocol.unknown-method',
    { kind: 'error', codes: [-32_601, -32_004] },
    rpcItem('eth_noSuchMethod'),
  ),
  'rpc-half-a-request': {
    ...written('rpc.protocol.no-json', { kind: 'error', codes: [-32_700] }, '{"jsonrpc":"2.0","id":1,"method":'),
    isUnreadable: true,
  },
  'rpc-id-of-zero': withId(0),
  'rpc-id-below-zero': withId(-3),
  'rpc-id-large': withId(Number.MAX_SAFE_INTEGER),
  'rpc-id-empty': withId(''),
  'rpc-id-of-other-letters': withId('é 漢 🚦 "\\'),
  'rpc-id-long': withId('i'.repeat(200)),
  'rpc-params-deep': withParams(`${'['.repeat(deep)}${']'.repeat(deep)}`),
  'rpc-params-large': withParams(`[{"data":"0x${'00'.repeat(20_000)}"},"latest"]`),
  'rpc-batch-over-the-limit': {
    ...asked(
      'rpc.protocol.batch-limit',
      { kind: 'refusal' },
      rpcRequest(({ rpc }) =>
        Array.from({ length: rpc.batchLimit + 1 }, (_, index) => rpcItem('eth_chainId', index + 1)),
      ),
    ),
    credits: contract => mostExpensiveCall(contract) * (contract.rpc.batchLimit + 1),
  },
} as const satisfies Probes
