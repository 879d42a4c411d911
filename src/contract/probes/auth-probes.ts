import type { Contract } from '../contract.ts'
import { type Probe, type Probes, rpcItem, type Sender, toChat, toRpc } from '../probe.ts'

const toNode = toRpc(() => rpcItem('eth_blockNumber'))
const hello = toChat(() => ({}))

/** A request that is right but for who sends it. It draws on no limit of a caller. */
const sentBy = (
  as: Sender,
  clause: Probe['clause'],
  request: Probe['request'],
  promised: Probe['promised'] = () => [401],
): Probe => ({ clause, as, draws: null, promised, names: [], request })

const unpaid = (): readonly number[] => [402]
const noKey = ({ auth }: Contract): readonly number[] => auth.noKey

/** Models are reserved for paying users only where the contract says so of one; nothing is asserted elsewhere. */
const reserved = ({ models }: Contract) => models.find(({ payingOnly }) => payingOnly)

export const authProbes = {
  'bad-key': sentBy('bad-key', 'auth.bearer', hello),
  'bad-key-to-rpc': sentBy('bad-key', 'auth.bearer', toNode),
  'no-key': sentBy('stranger', 'auth.missing', hello, noKey),
  'no-key-to-rpc': sentBy('stranger', 'auth.missing', toNode, noKey),
  'other-scheme': sentBy('other-scheme', 'auth.malformed', hello),
  'model-for-payers': sentBy(
    'unpaying',
    'auth.paid-only',
    toChat(contract => ({ model: reserved(contract)?.id ?? contract.models[0]?.id })),
    contract => (reserved(contract) === undefined ? [] : [401]),
  ),
  'empty-account': sentBy('empty', 'error.402', hello, unpaid),
  'empty-account-to-rpc': sentBy('empty', 'error.402', toNode, unpaid),
} as const satisfies Probes
