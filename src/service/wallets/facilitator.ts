import type { Rail } from '../../contract/wallets.ts'
import { optionalPackages } from '../../lib/optional-packages.ts'
import { accountAddress, digestHex } from './identity.ts'
import type { UsdcLedger } from './usdc.ts'

/** One way to pay, as in `accepts`. */
export type PaymentRequirement = {
  readonly scheme: 'exact'
  readonly network: string
  /** In the token's smallest unit. */
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra: Readonly<Record<string, string>>
}

/** A signed payment, as far as the service reads it. */
export type Payment = {
  readonly x402Version: 2
  readonly resource?: { readonly url: string }
  readonly accepted: Readonly<Record<string, unknown>> & { readonly network: string; readonly amount: string }
  readonly payload: Readonly<Record<string, unknown>>
}

/** A chain of the service: a rail, its USDC, and the address that collects payments. */
export type Chain = {
  readonly rail: Rail
  readonly usdc: UsdcLedger
  readonly payTo: string
  /** Pays the fees on Solana, and submits transfers on Base. */
  readonly agent: string
}

export type Facilitator = {
  /** What makes a payment the same one, however it is written, and who pays; null: malformed. */
  readonly identityOf: (payment: Payment) => { readonly id: string; readonly payer: string } | null
  /** null: valid; otherwise the reason why not. */
  readonly verify: (payment: Payment, requirement: PaymentRequirement) => Promise<string | null>
  /** The payer and the transaction, or the reason why there is none. */
  readonly settle: (payment: Payment, requirement: PaymentRequirement) => Promise<Settlement>
}

type Settlement =
  | { readonly kind: 'settled'; readonly payer: string; readonly transaction: string }
  | { readonly kind: 'failed'; readonly reason: string }

const names = ['@x402/core', '@x402/evm', '@x402/svm', '@solana/kit']

/** Creates facilitators of the x402 packages over chains in memory: they verify and settle without a network. */
export const facilitators = optionalPackages('Payments', names, async () => {
  const [{ x402Facilitator }, evm, svm, kit] = await Promise.all([
    import('@x402/core/facilitator'),
    import('@x402/evm/exact/facilitator'),
    import('@x402/svm/exact/facilitator'),
    import('@solana/kit'),
  ])
  type EvmSigner = ConstructorParameters<typeof evm.ExactEvmScheme>[0]
  type SvmSigner = ConstructorParameters<typeof svm.ExactSvmScheme>[0]
  type Verified = Parameters<InstanceType<typeof x402Facilitator>['verify']>

  /** A transfer of a Solana transaction: the third instruction is a TransferChecked, as the scheme prescribes. */
  function solanaTransfer(transaction: string) {
    const { messageBytes } = kit.getTransactionDecoder().decode(kit.getBase64Encoder().encode(transaction))
    const message = kit.getCompiledTransactionMessageDecoder().decode(messageBytes)
    const instruction = 'instructions' in message ? message.instructions[2] : undefined
    const authority = message.staticAccounts[instruction?.accountIndices?.[3] ?? -1]
    const data = Buffer.from(instruction?.data ?? [])
    if (authority === undefined || data.length < 10) throw new Error('the third instruction is not a transfer')
    return { id: digestHex(Buffer.from(messageBytes)), from: String(authority), amount: data.readBigUInt64LE(1) }
  }

  const evmSigner = ({ rail, usdc, agent }: Chain): EvmSigner => {
    const transferOf = (args: readonly unknown[] = []) => {
      const [from, to, value, , , nonce] = args
      const [payer, payee] = [String(from).toLowerCase(), String(to).toLowerCase()]
      return { id: `${payer}/${String(nonce).toLowerCase()}`, payer, payee, amount: BigInt(String(value)) }
    }
    return {
      getAddresses: () => [hex(agent)],
      getCode: async ({ address }) => (address.toLowerCase() === rail.asset.toLowerCase() ? '0x60' : undefined),
      readContract: async ({ functionName, args }) => {
        if (functionName !== 'transferWithAuthorization') throw new Error(`${functionName} is not simulated`)
        const { id, payer, amount } = transferOf(args)
        if (usdc.isUsed(id)) throw new Error('authorization is used')
        if (usdc.balanceOf(payer) < amount) throw new Error('transfer amount exceeds balance')
        return undefined
      },
      writeContract: async ({ args }) => {
        const { id, payer, payee, amount } = transferOf(args)
        if (!usdc.transfer(id, payer, payee, amount)) throw new Error('authorization is used')
        return hex(`0x${digestHex(id)}`)
      },
      waitForTransactionReceipt: async () => ({ status: 'success' }),
      // The scheme recovers the signer itself, and pays with transferWithAuthorization only.
      verifyTypedData: async () => false,
      sendTransaction: async () => {
        throw new Error('raw transactions are not simulated')
      },
    }
  }

  const solanaSigner = ({ usdc, payTo, agent }: Chain): SvmSigner => ({
    getAddresses: () => [kit.address(agent)],
    signTransaction: async transaction => transaction,
    simulateTransaction: async transaction => {
      const { id, from, amount } = solanaTransfer(transaction)
      if (usdc.isUsed(id)) throw new Error('the transaction was already processed')
      if (usdc.balanceOf(from) < amount) throw new Error('insufficient funds')
    },
    sendTransaction: async transaction => {
      const { id, from, amount } = solanaTransfer(transaction)
      if (!usdc.transfer(id, from, payTo, amount)) throw new Error('the transaction was already processed')
      return kit.getBase58Decoder().decode(Buffer.from(digestHex(id) + digestHex(`${id}/`), 'hex'))
    },
    confirmTransaction: async () => {},
  })

  return (chains: readonly Chain[]): Facilitator => {
    const facilitator = new x402Facilitator()
    for (const chain of chains) {
      const network = caip2(chain.rail.network)
      if (chain.rail.family === 'evm') facilitator.register(network, new evm.ExactEvmScheme(evmSigner(chain)))
      else facilitator.register(network, new svm.ExactSvmScheme(solanaSigner(chain)))
    }
    // The packages check the shape of what they get, so a payment of any shape may be passed on.
    const given = (payment: Payment, requirement: PaymentRequirement) =>
      [payment, requirement] as unknown as [Verified[0], Verified[1]]
    return {
      identityOf: ({ accepted, payload }) => {
        const { authorization, transaction } = payload
        try {
          if (typeof transaction === 'string') {
            const { id, from } = solanaTransfer(transaction)
            return { id: `${accepted.network}/${id}`, payer: from }
          }
          const { from, nonce } = authorization as Record<string, unknown>
          if (typeof from !== 'string' || typeof nonce !== 'string') return null
          const payer = accountAddress(from)
          return { id: `${accepted.network}/${payer}/${nonce.toLowerCase()}`, payer }
        } catch {
          return null
        }
      },
      verify: async (payment, requirement) => {
        const { isValid, invalidReason } = await facilitator.verify(...given(payment, requirement))
        return isValid ? null : (invalidReason ?? 'invalid')
      },
      settle: async (payment, requirement) => {
        const { success, payer, transaction, errorReason } = await facilitator.settle(...given(payment, requirement))
        return success && payer !== undefined
          ? { kind: 'settled', payer: accountAddress(payer), transaction }
          : { kind: 'failed', reason: errorReason ?? 'unknown' }
      },
    }
  }
})

const hex = (text: string): `0x${string}` => `0x${text.slice(2)}`

function caip2(network: string): `${string}:${string}` {
  const [namespace = '', reference = ''] = network.split(':')
  return `${namespace}:${reference}`
}
