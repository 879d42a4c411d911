import type { ClauseId } from '../../contract/clauses.ts'
import { unsupportedMethods } from '../../contract/rpc-methods.ts'
import { type Lie, type Lies, lie, replyLie } from './lie.ts'
import { textOf, withText } from './reply-edit.ts'

/** What breaks when methods of a sort are forwarded: their batches run, too. */
const inBatches: readonly ClauseId[] = ['rpc.batch.rejected', 'rpc.unsupported-method.named']

/** Methods that are forwarded although they must not be. */
const forwarding = (name: string, says: string, methods: readonly string[], also: readonly ClauseId[] = []): Lie =>
  lie(
    name,
    says,
    honest => ({ forwards: (method, network) => methods.includes(method) || honest.forwards(method, network) }),
    [...inBatches, ...also],
  )

const answeredWith = (name: string, says: string, status: number, about: string, also: readonly ClauseId[]): Lie =>
  replyLie(
    name,
    says,
    reply => (reply.status === 400 && textOf(reply).includes(about) ? { ...reply, status } : reply),
    also,
  )

/** The node's own error comes back under 200. */
const leftToNode = (name: string, says: string, about: string): Lie =>
  replyLie(name, says, reply => {
    const text = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}'
    return reply.status === 400 && textOf(reply).includes(about) ? withText({ ...reply, status: 200 }, text) : reply
  })

const withoutMethod = (name: string, says: string, without: string): Lie =>
  lie(name, says, honest => ({ forwards: (method, network) => method !== without && honest.forwards(method, network) }))

const everySort: readonly ClauseId[] = [
  'rpc.unsupported-method.websocket',
  'rpc.unsupported-method.filter',
  'rpc.unsupported-method.keys',
  'rpc.unsupported-method.family',
]

const {
  'websocket-only': subscriptions,
  'websocket-only-solana': solanaSubscriptions,
  'stateful-filter': filters,
  'key-holding': holders,
} = unsupportedMethods
const known: readonly string[] = Object.values(unsupportedMethods).flat()

/** What the proxy must refuse, and how. */
export const rpcRefusalLies = {
  'rpc.unsupported-method': [
    lie('no-allow-list', 'Every method is forwarded.', () => ({ forwards: () => true }), [...everySort, ...inBatches]),
    lie(
      'deny-list',
      'Every method is forwarded that is not known to be unsupported.',
      () => ({ forwards: method => !known.includes(method) }),
      ['rpc.unsupported-method.family', ...inBatches],
    ),
    lie('allow-list-with-prototype', 'What every object has is on the allow-list.', honest => ({
      forwards: (method, network) => method === 'constructor' || honest.forwards(method, network),
    })),
    answeredWith('unsupported-is-404', 'An unsupported method is answered with 404.', 404, 'Unsupported RPC method', [
      ...everySort,
      'rpc.batch.rejected',
    ]),
  ],
  'rpc.unsupported-method.websocket': [
    forwarding('subscriptions-forwarded', 'EVM subscriptions are forwarded.', subscriptions),
    forwarding('unsubscribe-forwarded', 'eth_unsubscribe is forwarded.', ['eth_unsubscribe']),
    forwarding('solana-subscriptions-forwarded', 'Solana subscriptions are forwarded.', solanaSubscriptions),
  ],
  'rpc.unsupported-method.filter': [
    forwarding('filters-forwarded', 'Stateful filter methods are forwarded.', filters),
    forwarding('filter-logs-forwarded', 'eth_getFilterLogs is forwarded.', ['eth_getFilterLogs']),
    forwarding('filter-uninstall-forwarded', 'eth_uninstallFilter is forwarded.', ['eth_uninstallFilter']),
  ],
  'rpc.unsupported-method.keys': [
    forwarding('key-methods-forwarded', 'Miner and key-holding methods are forwarded.', holders),
    forwarding('miner-methods-forwarded', 'Miner methods are forwarded.', [
      'eth_mining',
      'eth_hashrate',
      'eth_getWork',
      'eth_submitWork',
    ]),
    forwarding('accounts-forwarded', 'eth_accounts is forwarded.', ['eth_accounts']),
  ],
  'rpc.unsupported-method.family': [
    lie('one-list-for-all-families', 'A method of any family is forwarded to any network.', (honest, { rpc }) => ({
      forwards: (method, network) =>
        Object.values(rpc.methods).some(methods => Object.hasOwn(methods, method)) || honest.forwards(method, network),
    })),
    lie('solana-takes-evm-methods', 'EVM methods are forwarded to Solana.', (honest, { rpc }) => ({
      forwards: (method, network) =>
        (network.family === 'solana' && Object.hasOwn(rpc.methods.evm, method)) || honest.forwards(method, network),
    })),
  ],
  'rpc.batch.rejected': [
    lie('batch-runs-in-part', 'A batch runs when one of its methods is supported.', () => ({
      runs: (unsupported, items) => unsupported < items || unsupported === 0,
    })),
    lie('batch-runs-by-its-first', 'A batch of several runs whatever its methods are.', () => ({
      runs: (unsupported, items) => unsupported === 0 || items > 1,
    })),
    lie('one-offender-tolerated', 'A batch of several runs with one unsupported method.', () => ({
      runs: (unsupported, items) => unsupported === 0 || (unsupported === 1 && items > 1),
    })),
  ],
  'rpc.unsupported-method.named': [
    lie('first-method-named', 'Only the first unsupported method of a batch is named.', honest => ({
      named: methods => honest.named(methods).slice(0, 1),
    })),
    lie('last-method-not-named', 'The last unsupported method of a batch is not named.', honest => ({
      named: methods => (methods.length > 1 ? honest.named(methods).slice(0, -1) : honest.named(methods)),
    })),
    lie('no-method-named', 'Unsupported methods are not named.', () => ({ named: () => [] })),
    lie('ten-methods-named', 'At most ten unsupported methods are named.', honest => ({
      named: methods => honest.named(methods).slice(0, 10),
    })),
    lie('subscriptions-named-alone', 'Where subscriptions are among them, no other method is named.', honest => ({
      named: methods => {
        const sockets = methods.filter(method => /subscribe$/i.test(method))
        return honest.named(sockets.length === 0 ? methods : sockets)
      },
    })),
  ],
  'rpc.batch.limit': [
    lie('batch-one-larger', 'A batch may have one item more.', honest => ({ batchLimit: honest.batchLimit + 1 })),
    lie('batch-of-any-size', 'A batch may have any number of items.', () => ({ batchLimit: Number.POSITIVE_INFINITY })),
  ],
  'rpc.batch.full': [
    lie('batch-one-smaller', 'A batch may have one item less.', honest => ({ batchLimit: honest.batchLimit - 1 })),
    lie('batch-of-fifty', 'A batch may have half as many items.', honest => ({
      batchLimit: Math.floor(honest.batchLimit / 2),
    })),
  ],
  'rpc.network': [
    answeredWith('unknown-network-is-404', 'A network that is not known is answered with 404.', 404, 'RPC network', []),
    lie('unknown-network-is-the-first', 'A network that is not known is taken for the first.', honest => ({
      network: (slug, networks) => honest.network(slug, networks) ?? [...networks.values()][0],
    })),
  ],
  'rpc.request': [
    leftToNode('version-left-to-node', 'Another version of JSON-RPC is left to the node.', 'jsonrpc must'),
    leftToNode('method-left-to-node', 'A method that is none is left to the node.', 'method must'),
    leftToNode('params-left-to-node', 'Parameters that are no list are left to the node.', 'params must'),
    answeredWith('no-json-is-500', 'A body that is no JSON is answered with 500.', 500, 'Invalid JSON request', []),
  ],
  'rpc.alternatives': [
    withoutMethod('no-logs', 'eth_getLogs is not supported.', 'eth_getLogs'),
    withoutMethod('no-raw-transactions', 'eth_sendRawTransaction is not supported.', 'eth_sendRawTransaction'),
  ],
  'rpc.refused.free': [
    lie('rejected-batch-billed', 'What could have run of a rejected batch is billed.', (honest, { rpc }) => ({
      rejectionCredits: supported =>
        honest.rejectionCredits(supported) + supported * (Object.values(rpc.networks)[0]?.baseCredits ?? 0),
    })),
    lie(
      'every-refusal-billed',
      'Whatever the proxy refuses to a caller is billed as a failing item.',
      (honest, { rpc }) => ({
        finish: (reply, visit) => {
          const { account, route } = visit
          if (route.kind === 'rpc' && account !== null && reply.status >= 400 && reply.status < 500)
            honest.charge(account, { currency: 'usd', pico: honest.costPicoUsd(rpc.errorItemCredits) })
          return honest.finish(reply, visit)
        },
      }),
      ['billing.conservation', 'billing.balance-before'],
    ),
    lie('rejection-billed-as-failure', 'A rejected request is billed as a failing item.', (honest, { rpc }) => ({
      rejectionCredits: supported => honest.rejectionCredits(supported) + rpc.errorItemCredits,
    })),
  ],
} as const satisfies Lies
