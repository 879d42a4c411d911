import type { Contract } from '../contract.ts'
import { chatRequest, listRequest, mostExpensiveCall, type Probe, type Probes, rpcItem, rpcRequest } from '../probe.ts'
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

/** An address without an owner. */
const otherAddress = '0x000000000000000000000000000000000000dEaD'

/** The document does not show the status for another wallet. */
function refusedForOther(contract: Contract): readonly number[] {
  const { balanceAsker, signIn } = contract.wallets
  if (balanceAsker === 'anyone') return []
  const path = 'wallets.signIn.refusals.otherWallet'
  const { status } = signIn.refusals.otherWallet
  return sourceOfValue(contract, path) === 'default' ? [...new Set([status, 401, 403, 404])] : [status]
}

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
  'expired-sign-in-to-chat': signedBy(
    'expired-sign-in',
    chatRequest(() => ({})),
  ),
  'balance-of-another-wallet': {
    clause: 'wallet.failed',
    as: 'wallet',
    draws: null,
    promised: refusedForOther,
    names: [],
    request: listRequest(({ wallets }) => wallets.balancePath.replace('{walletAddress}', otherAddress)),
  },
} as const satisfies Probes
