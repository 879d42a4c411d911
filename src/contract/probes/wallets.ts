import type { Contract } from '../contract.ts'
import {
  chatRequest,
  embeddingRequest,
  listRequest,
  mostExpensiveCall,
  type Probe,
  type Probes,
  rpcItem,
  rpcRequest,
} from '../probe.ts'
import { sourceOfValue } from '../sources.ts'
import { type BadSignIn, badSignIns } from '../wallets.ts'

/** A valid request with a sign-in that must be refused. */
const signedBy = (as: BadSignIn, request: Probe['request'] = toNode): Probe => ({
  clause: 'wallet.failed',
  as,
  draws: null,
  promised: ({ wallets }) => [wallets.signIn.refusals[badSignIns[as]].status],
  names: [],
  request,
})

const toNode = rpcRequest(() => rpcItem('eth_blockNumber'))
const hello = chatRequest(() => ({}))

/** A service need not have embeddings. */
const embeddingSignedBy = (as: BadSignIn): Probe => {
  const probe = signedBy(as, embeddingRequest('hello'))
  const hasEmbeddings = ({ resources }: Contract) => Object.values(resources).some(({ draws }) => draws === 'embedding')
  return { ...probe, promised: contract => (hasEmbeddings(contract) ? probe.promised(contract) : []) }
}

/** The balance of an address without an owner. */
const balanceOf = (address: string): Probe => ({
  clause: 'wallet.failed',
  as: 'wallet',
  draws: null,
  promised: refusedForOther,
  names: [],
  request: listRequest(({ wallets }) => wallets.balancePath.replace('{walletAddress}', address)),
})

/** The document does not show the status for another wallet. */
function refusedForOther(contract: Contract): readonly number[] {
  const { balanceAsker, signIn } = contract.wallets
  if (balanceAsker === 'anyone') return []
  const path = 'wallets.signIn.refusals.otherWallet'
  const { status } = signIn.refusals.otherWallet
  return sourceOfValue(contract, path) === 'default' ? [...new Set([status, 401, 403, 404])] : [status]
}

/** The own balance of the wallet, whose address the path names when it is sent. */
const balanceSignedBy = (as: BadSignIn): Probe => {
  const probe = signedBy(
    as,
    listRequest(({ wallets }) => wallets.balancePath),
  )
  return {
    ...probe,
    promised: contract => (contract.wallets.balanceAsker === 'anyone' ? [] : probe.promised(contract)),
  }
}

/** A sign-in under the old name of its header. */
const inLegacyHeader = (probe: Probe): Probe => ({
  ...probe,
  isLegacy: true,
  promised: contract => (contract.wallets.signIn.legacyHeader === null ? [] : probe.promised(contract)),
})

/** Sign-ins that are not valid for their request. */
export const walletProbes = {
  'repeated-sign-in': signedBy('repeated-sign-in'),
  // One of them is accepted, and pays if the wallet can.
  'raced-sign-in': {
    ...signedBy('repeated-sign-in'),
    as: 'raced-sign-in',
    copies: 3,
    draws: 'rpc',
    promised: ({ wallets }) => [200, 402, wallets.signIn.refusals.replayed.status],
    credits: mostExpensiveCall,
  },
  'expired-sign-in': signedBy('expired-sign-in'),
  'future-sign-in': signedBy('future-sign-in'),
  'other-domain-sign-in': signedBy('other-domain-sign-in'),
  'other-signer-sign-in': signedBy('other-signer-sign-in'),
  'other-chain-sign-in': signedBy('other-chain-sign-in'),
  'changed-signature-sign-in': signedBy('changed-signature-sign-in'),
  'changed-text-sign-in': signedBy('changed-text-sign-in'),
  'unreadable-sign-in': signedBy('unreadable-sign-in'),
  'expired-sign-in-to-chat': signedBy('expired-sign-in', hello),
  'repeated-sign-in-to-chat': signedBy('repeated-sign-in', hello),
  'changed-signature-sign-in-to-chat': signedBy('changed-signature-sign-in', hello),
  'expired-sign-in-to-embeddings': embeddingSignedBy('expired-sign-in'),
  'changed-signature-sign-in-to-embeddings': embeddingSignedBy('changed-signature-sign-in'),
  'expired-sign-in-to-balance': balanceSignedBy('expired-sign-in'),
  'changed-signature-sign-in-to-balance': balanceSignedBy('changed-signature-sign-in'),
  'expired-sign-in-in-legacy-header': inLegacyHeader(signedBy('expired-sign-in')),
  'changed-signature-sign-in-in-legacy-header': inLegacyHeader(signedBy('changed-signature-sign-in')),
  'balance-of-another-wallet': balanceOf('0x000000000000000000000000000000000000dEaD'),
  'balance-of-another-solana-wallet': balanceOf('11111111111111111111111111111111'),
} as const satisfies Probes
