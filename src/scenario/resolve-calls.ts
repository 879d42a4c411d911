import { type Contract, resourceOf } from '../contract/contract.ts'
import { usualEvmMethods } from '../contract/rpc-methods.ts'
import { entriesOf, salvage } from '../lib/schema-mistakes.ts'
import { unknownWord } from '../lib/usage-error.ts'
import type { Complain, Path } from '../lib/yaml.ts'
import type { Call, RpcCall } from './call.ts'
import { callSchemas } from './call-schema.ts'
import { resolveChat } from './resolve-chat.ts'

/** The calls of a scenario by name, decided by the contract. A call with a mistake in it has its name and no value. */
export type Calls = ReadonlyMap<string, Call | null>

/** Complains of what the contract does not know; the form of the file is the schema's business. */
export function resolveCalls(
  value: unknown,
  { count, 'keys-each': keys }: { readonly count?: number | undefined; readonly 'keys-each'?: number | undefined },
  contract: Contract,
  complain: Complain,
): Calls {
  const written = Object.entries(entriesOf(value))
  const calls = new Map<string, Call | null>(
    written.map(([name, call]) => [name, resolveCall(['calls', name], call, contract, complain)]),
  )
  // A replay repeats a call that may come after it in the file, so it waits for the others.
  for (const [name, call] of written) {
    if (!isReplay(call)) continue
    const path = ['calls', name]
    calls.set(name, resolveReplay(path, call, entriesOf(value), calls, complain))
    const { foreign = 0, 'other-key': otherKey = 0 } = salvage(callSchemas.replay, call)
    const expectNone = (key: string, got: number, expected: string) =>
      complain({ path: [...path, key], at: 'value', got: String(got), expected })
    if (foreign > 0 && count === 1)
      expectNone('foreign', foreign, '0, since there is one caller and a foreign request comes from another')
    if (otherKey > 0 && keys === 1)
      expectNone('other-key', otherKey, '0, since callers have one key each: see "keys-each" of "callers"')
  }
  return calls
}

function resolveCall(path: Path, value: unknown, contract: Contract, complain: Complain): Call | null {
  const kind = entriesOf(value).kind
  switch (kind) {
    case 'chat':
      return resolveChat(path, value, contract, complain)
    case 'rpc': {
      const { failing } = salvage(callSchemas.rpc, value)
      return resolveRpc(path, value, null, failing, contract, complain)
    }
    case 'rpc-batch':
      return resolveBatch(path, value, contract, complain)
    case 'models':
    case 'networks':
    case 'rate-limits':
    case 'rate-limit-logs':
      return { kind }
    case 'resource':
      return resolveResource(path, value, contract, complain)
    case 'probe': {
      const { probe } = salvage(callSchemas.probe, value)
      return probe === undefined ? null : { kind, probe }
    }
    default:
      return null
  }
}

function resolveResource(path: Path, value: unknown, contract: Contract, complain: Complain): Call | null {
  const { resource: name, body = {}, page = null, limit = null } = salvage(callSchemas.resource, value)
  if (name === undefined) return null
  const resource = resourceOf(contract, name)
  if (resource !== null) return { kind: 'resource', resource: name, draws: resource.draws, body, page, limit }
  const word = unknownWord(name, Object.keys(contract.resources), `a resource of the profile "${contract.name}"`)
  complain({ path: [...path, 'resource'], at: 'value', ...word })
  return null
}

function resolveBatch(path: Path, value: unknown, contract: Contract, complain: Complain): RpcCall | null {
  const { size, failing } = salvage(callSchemas['rpc-batch'], value)
  const most = contract.rpc.batchLimit
  if (size !== undefined && size > most) {
    complain({ path: [...path, 'size'], at: 'value', got: String(size), expected: `a whole number from 1 to ${most}` })
  }
  if (size !== undefined && failing !== undefined && failing > size) {
    const expected = `at most ${size}, the size of the batch`
    complain({ path: [...path, 'failing'], at: 'value', got: String(failing), expected })
  }
  const call = resolveRpc(path, value, size ?? null, failing, contract, complain)
  return size === undefined ? null : call
}

function resolveRpc(
  path: Path,
  value: unknown,
  batchSize: number | null,
  failing: number | undefined,
  contract: Contract,
  complain: Complain,
): RpcCall | null {
  const { network, methods } = salvage(callSchemas.rpc, value)
  const written = entriesOf(value)
  if (network === undefined) return null
  const chain = Object.hasOwn(contract.rpc.networks, network) ? contract.rpc.networks[network] : undefined
  if (chain === undefined) {
    const word = unknownWord(network, Object.keys(contract.rpc.networks), `a network of the profile "${contract.name}"`)
    complain({ path: [...path, 'network'], at: 'value', ...word })
    return null
  }
  const allowed = Object.keys(contract.rpc.methods[chain.family])
  if (written.methods === undefined) {
    const usual = chain.family === 'evm' ? usualEvmMethods.filter(([method]) => allowed.includes(method)) : []
    if (usual.length === 0) {
      const expected = `weights of methods, since ${network} is of the family ${chain.family} and has no usual ones`
      complain({ path, at: 'value', got: 'no "methods"', expected })
      return null
    }
    return failing === undefined ? null : { kind: 'rpc', network, methods: usual, batchSize, failing }
  }
  const unknown = Object.keys(entriesOf(written.methods)).filter(method => !allowed.includes(method))
  for (const method of unknown) {
    const word = unknownWord(method, allowed, `a method on the allow-list of ${network}`)
    complain({ path: [...path, 'methods', method], at: 'key', ...word })
  }
  if (methods === undefined || failing === undefined || unknown.length > 0) return null
  return { kind: 'rpc', network, methods: Object.entries(methods), batchSize, failing }
}

function resolveReplay(
  path: Path,
  value: unknown,
  written: Readonly<Record<string, unknown>>,
  calls: Calls,
  complain: Complain,
): Call | null {
  const {
    of,
    duplicates,
    concurrent,
    conflicting,
    foreign,
    'other-key': otherKey,
    'again-after': againAfterMs = null,
  } = salvage(callSchemas.replay, value)
  if (of === undefined) return null
  // An original with a mistake in it has its own complaint; of what kind it would be is not known.
  const original = calls.get(of)
  if (original === null && !isReplay(written[of])) return null
  const repeatable = Object.keys(written).filter(name => isRpc(written[name]))
  if (original?.kind !== 'rpc') {
    const word = unknownWord(of, repeatable, 'the name of an rpc or rpc-batch call')
    complain({ path: [...path, 'of'], at: 'value', ...word })
    return null
  }
  if (duplicates === undefined || concurrent === undefined) return null
  if (conflicting === undefined || foreign === undefined || otherKey === undefined) return null
  if (againAfterMs !== null && againAfterMs > longestAgainMs) {
    const expected = `at most ${longestAgainMs / 1000}s, since the run waits for it`
    complain({ path: [...path, 'again-after'], at: 'value', got: `${againAfterMs / 1000}s`, expected })
    return null
  }
  if (duplicates === 0 && conflicting === 0 && foreign === 0 && otherKey === 0 && againAfterMs === null) {
    complain({
      path,
      at: 'value',
      got: 'a replay without a repetition',
      expected: 'duplicates, other-key, conflicting or foreign above 0, or again-after',
    })
    return null
  }
  return { kind: 'replay', of: original, duplicates, concurrent, conflicting, foreign, otherKey, againAfterMs }
}

/** What waits holds up the audits, which want the requests in their order. */
const longestAgainMs = 30_000

const isReplay = (call: unknown): boolean => entriesOf(call).kind === 'replay'
const isRpc = (call: unknown): boolean => ['rpc', 'rpc-batch'].includes(String(entriesOf(call).kind))
