import type { Contract } from '../../contract/contract.ts'
import { formatPico, pico } from '../../lib/money.ts'
import type { Account } from '../account.ts'
import { drawPaymentFaults, type PaymentFault } from '../faults.ts'
import { errorReply, jsonReply, type Reply, type RequestState, type ServiceRequest } from '../message.ts'
import { evmSignatures } from './evm-signatures.ts'
import type { Chain, PaymentRequirement } from './facilitator.ts'
import { accountAddress, ownAddress } from './identity.ts'
import { hostOf, type Offers, picoPerUnit, walletOffers } from './offers.ts'
import { type SignIn, type SignInRule, signInChecker } from './sign-in.ts'
import { solanaNode } from './solana-node.ts'
import { defaultPaymentRules, type PaymentRules, type TopUps, topUps } from './top-up.ts'
import { usdcLedger } from './usdc.ts'

/** What wallets find at this service. */
export type WalletSettings = {
  /** Simulated USDC that each wallet has on each chain before its first payment, a decimal. */
  readonly usdc: string
  /** Credit that each wallet opens with, a decimal. */
  readonly creditUsd: string
  /** How long a settlement takes, and one with the fault `slow`, in milliseconds. */
  readonly settlementMs: number
  readonly slowSettlementMs: number
  readonly faults: readonly PaymentFault[]
}

export const defaultWalletSettings: WalletSettings = {
  usdc: '100',
  creditUsd: '0',
  settlementMs: 200,
  slowSettlementMs: 20_000,
  faults: [],
}

/** The decisions about wallets, one function each. A lie replaces some of them. */
export type WalletRules = PaymentRules & {
  readonly signInRefusal: SignInRule
  /** Whether a wallet may read the balance of an address. */
  readonly mayReadBalance: (wallet: string | undefined, address: string) => boolean
  /** The payments that an offer accepts. */
  readonly offered: (payments: readonly PaymentRequirement[]) => readonly unknown[]
}

export const defaultWalletRules: WalletRules = {
  ...defaultPaymentRules,
  signInRefusal: refusal => refusal,
  mayReadBalance: (wallet, address) => wallet === address,
  offered: payments => payments,
}

type WalletDeps = {
  readonly contract: Contract
  readonly rules: WalletRules
  readonly seed: number
  readonly settings: WalletSettings
  readonly accountOf: (address: string) => Account
  readonly paymentId: () => string
}

export type Wallets = {
  readonly offers: Offers
  /** null: the request has no sign-in. */
  readonly signIn: (request: ServiceRequest, arrivedMs: number) => SignIn | null
  readonly refuseSignIn: (state: RequestState, signIn: Exclude<SignIn, { readonly kind: 'signed-in' }>) => Reply
  readonly balance: (state: RequestState, address: string) => Reply
  /** A simulated node of Solana, for clients that build payments. */
  readonly solanaNode: (state: RequestState) => Reply
  readonly applyDueCredits: TopUps['applyDueCredits']
  /** What a request must wait for before it can be answered; null: nothing. */
  readonly preparation: (request: ServiceRequest) => Promise<unknown> | null
  /** The payment of a top-up; null: it has none. */
  readonly paymentOf: (request: ServiceRequest) => string | null
  readonly pay: TopUps['pay']
  /** The simulated chains. */
  readonly chains: readonly Chain[]
}

export function createWallets({ contract, rules, seed, settings, accountOf, paymentId }: WalletDeps): Wallets {
  const { wallets: terms } = contract
  const chains = Object.entries(terms.rails).map(([name, rail]): Chain => {
    const payTo = ownAddress(rail.family, seed, `${name}/payments`)
    const agent = ownAddress(rail.family, seed, `${name}/agent`)
    return { rail, payTo, agent, usdc: usdcLedger(pico(settings.usdc) / picoPerUnit(rail.decimals), [payTo, agent]) }
  })
  const { header, legacyHeader } = terms.signIn
  const signInOf = firstHeader([header, ...(legacyHeader === null ? [] : [legacyHeader])])
  const paymentHeaders = [terms.topUp.paymentHeader, ...terms.topUp.legacyPaymentHeaders].map(name =>
    name.toLowerCase(),
  )
  const checkSignIn = signInChecker(terms, rules.signInRefusal)
  const { pay, applyDueCredits } = topUps({
    terms,
    rules,
    chains,
    accountOf,
    paymentId,
    drawFault: drawPaymentFaults(settings.faults, seed),
    settlementMs: settings.settlementMs,
    slowSettlementMs: settings.slowSettlementMs,
  })

  return {
    offers: walletOffers(terms, rules.offered, chains, seed),
    chains,
    solanaNode: solanaNode(Object.values(terms.rails)),
    applyDueCredits,
    pay,
    paymentOf: ({ headers }) => rules.paymentHeader(headers, paymentHeaders),
    preparation: request =>
      signInOf(request) === null || evmSignatures.loaded() !== null ? null : evmSignatures.load(),
    signIn: (request, arrivedMs) => {
      const header = signInOf(request)
      return header === null ? null : checkSignIn(header, hostOf(request), arrivedMs, request)
    },
    refuseSignIn: (state, signIn) => {
      if (signIn.kind === 'unavailable') {
        const { status, code } = terms.topUp.refusals.unavailable
        return errorReply(state, status, evmSignatures.missing, code === null ? {} : { code })
      }
      const { status, code } = terms.signIn.refusals[signIn.refusal]
      return errorReply(state, status, `Authentication failed: ${signIn.refusal}`, code === null ? {} : { code })
    },
    balance: (state, written) => {
      const address = accountAddress(written)
      const { account } = state
      if (terms.balanceAsker === 'itself' && account?.wallet === undefined)
        return errorReply(state, 401, 'Authentication failed')
      if (terms.balanceAsker === 'itself' && !rules.mayReadBalance(account?.wallet, address)) {
        const { status, code } = terms.signIn.refusals.otherWallet
        return errorReply(state, status, 'This is another wallet', code === null ? {} : { code })
      }
      const { picoUsd } = accountOf(address)
      return jsonReply(state, {
        success: true,
        data: {
          walletAddress: address,
          balanceUsd: Number(formatPico(picoUsd)),
          canConsume: picoUsd > 0n && picoUsd >= pico(terms.minimumBalanceUsd ?? '0'),
          minimumTopUpUsd: Number(terms.topUp.minimumUsd),
          suggestedTopUpUsd: Number(terms.topUp.suggestedUsd),
        },
      })
    },
  }
}

/** Reads the first of some headers that a request has; null: none. */
function firstHeader(names: readonly string[]): (request: ServiceRequest) => string | null {
  const keys = names.map(name => name.toLowerCase())
  return ({ headers }) => {
    for (const key of keys) {
      const value = headers[key]
      if (value !== undefined) return value
    }
    return null
  }
}
