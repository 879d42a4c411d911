import {
  type Address,
  decompileTransactionMessage,
  generateKeyPairSigner,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getPublicKeyFromAddress,
  getSignatureFromTransaction,
  getTransactionDecoder,
  verifySignature,
} from '@solana/kit'
import type { FacilitatorEvmSigner } from '@x402/evm'
import { type FacilitatorSvmSigner, toFacilitatorSvmSigner } from '@x402/svm'
import { type Hex, keccak256, recoverTypedDataAddress, serializeSignature, toHex } from 'viem'

/** A transfer of USDC on a simulated chain, in its smallest unit. */
export type Transfer = { readonly from: string; readonly to: string; readonly amount: bigint }

const transferWithAuthorization = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/**
 * USDC on Base, as its contract acts: it recovers who signed a transfer, checks the times, and takes each nonce once. For
 * the facilitator of @x402/evm.
 */
export function baseChain(token: Hex): { readonly signer: FacilitatorEvmSigner; readonly transfers: Transfer[] } {
  const transfers: Transfer[] = []
  const used = new Set<string>()

  async function check(args: readonly unknown[] = []): Promise<{ readonly id: string; readonly transfer: Transfer }> {
    const [from, to, value, validAfter, validBefore, nonce, v, r, s] = args as readonly [
      ...[Hex, Hex, bigint, bigint, bigint, Hex],
      ...[number | bigint, Hex, Hex],
    ]
    const signer = await recoverTypedDataAddress({
      domain: { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: token },
      types: transferWithAuthorization,
      primaryType: 'TransferWithAuthorization',
      message: { from, to, value, validAfter, validBefore, nonce },
      signature: serializeSignature({ r, s, yParity: Number(v) % 27 }),
    })
    const now = BigInt(Math.floor(Date.now() / 1_000))
    if (signer.toLowerCase() !== from.toLowerCase()) throw new Error('FiatTokenV2: invalid signature')
    if (now <= validAfter || now >= validBefore) throw new Error('FiatTokenV2: authorization is expired')
    const id = `${from.toLowerCase()}/${nonce}`
    if (used.has(id)) throw new Error('FiatTokenV2: authorization is used')
    return { id, transfer: { from, to, amount: value } }
  }

  return {
    transfers,
    signer: {
      getAddresses: () => [`0x${'fa'.repeat(20)}`],
      getCode: async ({ address }) => (address.toLowerCase() === token.toLowerCase() ? '0x60' : undefined),
      readContract: async ({ functionName, args }) => {
        if (functionName !== 'transferWithAuthorization') throw new Error(`no ${functionName} here`)
        await check(args)
      },
      writeContract: async ({ args }) => {
        const { id, transfer } = await check(args)
        used.add(id)
        transfers.push(transfer)
        return keccak256(toHex(id))
      },
      waitForTransactionReceipt: async () => ({ status: 'success' }),
      verifyTypedData: async () => false,
      sendTransaction: async () => Promise.reject(new Error('no other transactions here')),
    },
  }
}

const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'

/**
 * USDC on Solana: a transaction needs the signatures of its fee payer and of the owner of the money, and counts once. For
 * the facilitator of @x402/svm, which pays the fees.
 */
export async function solanaChain(): Promise<{
  readonly signer: FacilitatorSvmSigner
  readonly transfers: Transfer[]
}> {
  const transfers: Transfer[] = []
  const used = new Set<string>()
  const decode = (transaction: string) => getTransactionDecoder().decode(getBase64Encoder().encode(transaction))

  return {
    transfers,
    signer: {
      // Signs with the key of the fee payer, and needs no node for that.
      ...toFacilitatorSvmSigner(await generateKeyPairSigner()),
      simulateTransaction: async () => {},
      confirmTransaction: async () => {},
      sendTransaction: async text => {
        const transaction = decode(text)
        const { messageBytes, signatures } = transaction
        for (const [address, signature] of Object.entries(signatures)) {
          const key = await getPublicKeyFromAddress(address as Address)
          if (signature === null || !(await verifySignature(key, signature, messageBytes)))
            throw new Error(`no signature of ${address}`)
        }
        const id = getSignatureFromTransaction(transaction)
        if (used.has(id)) throw new Error('the transaction was already processed')
        const compiled = getCompiledTransactionMessageDecoder().decode(messageBytes)
        if (!('instructions' in compiled)) throw new Error('a message without instructions')
        const { instructions = [] } = decompileTransactionMessage(compiled)
        for (const { programAddress, accounts = [], data = new Uint8Array() } of instructions) {
          if (programAddress !== tokenProgram) continue
          // TransferChecked: its number, the amount, and the decimals. From, mint, to, owner.
          const [, , to, owner] = accounts
          const amount = Buffer.from(data).readBigUInt64LE(1)
          transfers.push({ from: String(owner?.address), to: String(to?.address), amount })
        }
        used.add(id)
        return id
      },
    },
  }
}

/** A Solana node for clients: the mint of USDC, and a recent block. */
export function solanaNodeAnswer(text: string): string {
  const { id, method } = JSON.parse(text) as { readonly id: unknown; readonly method: string }
  const mint = Buffer.alloc(82)
  mint[44] = 6
  mint[45] = 1
  const account = {
    ...{ data: [mint.toString('base64'), 'base64'], executable: false, lamports: 1, rentEpoch: 0, space: mint.length },
    owner: tokenProgram,
  }
  const value =
    method === 'getAccountInfo'
      ? account
      : { blockhash: '4sGjMW1sUnHzSxGspuhpqLDx6wiyjNtZAMdL4VZHirAn', lastValidBlockHeight: 1_000 }
  return JSON.stringify({ jsonrpc: '2.0', id, result: { context: { slot: 1 }, value } })
}
