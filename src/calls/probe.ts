import { type ProbeName, probes } from '../contract/probes.ts'
import { type Call, jsonHeaders, type Office } from './call.ts'

/** The crafted request of a probe. None of them is billed by a service that keeps its word. */
export function probeCall(name: ProbeName, headers: Readonly<Record<string, string>>, office: Office): Call {
  const { contract, bounds } = office
  const chat = JSON.stringify({
    model: contract.models[0]?.id,
    messages: [{ role: 'user', content: 'hello' }],
    max_completion_tokens: 1,
  })
  const { path, headers: sent, body } = crafted(name, chat, headers, office)
  return {
    asked: { kind: 'probe', probe: name },
    request: {
      method: 'POST',
      path: path === 'chat' ? contract.paths.chat : contract.paths.rpc.replace('{network}', evmNetwork(office)),
      headers: sent,
      body,
      timeouts: bounds.timeouts.control,
      maxBodyBytes: bounds.maxBodyBytes,
    },
  }
}

function crafted(
  name: ProbeName,
  chat: string,
  credentials: Readonly<Record<string, string>>,
  { contract }: Office,
): { path: 'chat' | 'rpc'; headers: Readonly<Record<string, string>>; body: string } {
  const known = { ...jsonHeaders, ...credentials }
  switch (name) {
    case 'bad-key':
      return { path: 'chat', headers: { ...jsonHeaders, authorization: 'Bearer not-a-key' }, body: chat }
    case 'wrong-media-type':
      return { path: 'chat', headers: { ...known, 'content-type': 'text/plain' }, body: chat }
    case 'websocket-method':
      return { path: 'rpc', headers: known, body: JSON.stringify(item('eth_subscribe', 1)) }
    case 'filter-method':
      return { path: 'rpc', headers: known, body: JSON.stringify(item('eth_newFilter', 1)) }
    case 'key-holding-method':
      return { path: 'rpc', headers: known, body: JSON.stringify(item('eth_accounts', 1)) }
    case 'unlisted-method':
      return { path: 'rpc', headers: known, body: JSON.stringify(item('eth_noSuchMethod', 1)) }
    case 'unsupported-methods-in-batch':
      return {
        path: 'rpc',
        headers: known,
        body: JSON.stringify(
          ['eth_blockNumber', ...probes[name].names].map((method, index) => item(method, index + 1)),
        ),
      }
    case 'batch-too-long': {
      const batch = Array.from({ length: contract.rpc.batchLimit + 1 }, (_, index) =>
        item('eth_blockNumber', index + 1),
      )
      return { path: 'rpc', headers: known, body: JSON.stringify(batch) }
    }
  }
}

const item = (method: string, id: number) => ({ jsonrpc: '2.0', id, method, params: [] })

const evmNetwork = ({ contract }: Office): string =>
  Object.entries(contract.rpc.networks).find(([, network]) => network.family === 'evm')?.[0] ?? 'ethereum-mainnet'
