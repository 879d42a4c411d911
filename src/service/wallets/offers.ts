import type { WalletTerms } from '../../contract/wallets.ts'
import { formatPico, pico } from '../../lib/money.ts'
import { randomStream } from '../../lib/random.ts'
import type { Account } from '../account.ts'
import { basePath, type Reply, type RequestState, type ServiceRequest } from '../message.ts'
import type { Chain, PaymentRequirement } from './facilitator.ts'

/** The three replies that say how to pay. Each has the requirements in a header, too. */
export type Offers = {
  /** To a caller without credentials: how to pay, and how to sign in. */
  readonly discovery: (state: RequestState) => Reply
  /** To a wallet with too little credit. */
  readonly insufficient: (state: RequestState, account: Account) => Reply
  /** To a top-up without a payment. */
  readonly topUp: (state: RequestState) => Reply
}

/** The domain of a service that is asked without a Host header, as no HTTP client does. */
const nameless = 'localhost'

export const hostOf = ({ headers }: ServiceRequest): string => headers.host ?? nameless

/** The address of the requested resource. */
export const resourceUrl = ({ request }: RequestState): string => `http://${hostOf(request)}${basePath}${request.path}`

/** `offered`: the payments that are accepted, as a lie may change them. */
export function walletOffers(
  terms: WalletTerms,
  offered: (payments: readonly PaymentRequirement[]) => readonly unknown[],
  chains: readonly Chain[],
  seed: number,
): Offers {
  const { signIn, topUp, rails } = terms
  const random = randomStream(seed, 'sign-in-challenges')
  const accepts = offered(chains.map(chain => requirementOf(chain, terms, pico(topUp.minimumUsd))))
  const supportedChains = Object.values(rails).map(({ family, network }) => ({
    chainId: network,
    type: family === 'evm' ? 'eip191' : 'ed25519',
  }))
  let challenges = 0

  /** New each time: the counter makes its nonce unique. */
  function challenge(state: RequestState) {
    const { arrivedMs } = state
    const nonce = `${random.int(2 ** 32).toString(16)}${(++challenges).toString(16).padStart(8, '0')}`.padStart(32, '0')
    const info = {
      domain: signIn.domains[0] ?? hostOf(state.request),
      uri: resourceUrl(state),
      version: '1',
      nonce,
      issuedAt: new Date(arrivedMs).toISOString(),
      expirationTime: new Date(arrivedMs + signIn.validityMs).toISOString(),
      statement: signIn.statement,
    }
    return { info, supportedChains }
  }

  const required = (state: RequestState) => ({
    x402Version: 2,
    resource: { url: resourceUrl(state), description: 'The reference service', mimeType: 'application/json' },
    accepts,
  })

  const signInExtension = (state: RequestState) => ({ extensions: { 'sign-in-with-x': challenge(state) } })

  function reply(state: RequestState, requirements: unknown, body: unknown): Reply {
    state.headers[topUp.requiredHeader.toLowerCase()] = Buffer.from(JSON.stringify(requirements)).toString('base64')
    return {
      status: topUp.offerStatus,
      headers: state.headers,
      afterMs: 0,
      body: { kind: 'whole', text: JSON.stringify(body) },
    }
  }

  return {
    discovery: state => {
      const offer = {
        ...required(state),
        authOptions: {
          apiKey: { header: 'Authorization: Bearer <API_KEY>' },
          x402Wallet: { header: signIn.header, legacyHeader: signIn.legacyHeader, topUp: topUp.path },
        },
        ...signInExtension(state),
      }
      return reply(state, offer, offer)
    },
    topUp: state => {
      const offer = { ...required(state), ...signInExtension(state) }
      return reply(state, offer, offer)
    },
    insufficient: (state, { picoUsd }) => {
      const [first] = chains
      const minimumTopUpUsd = Number(topUp.minimumUsd)
      const body = {
        error: 'Payment required',
        ...(terms.insufficientCode === null ? {} : { code: terms.insufficientCode }),
        reason: 'insufficient_balance',
        currentBalanceUsd: Number(formatPico(picoUsd)),
        ...(terms.minimumBalanceUsd === null ? {} : { minimumBalanceUsd: Number(terms.minimumBalanceUsd) }),
        minimumTopUpUsd,
        suggestedTopUpUsd: Number(topUp.suggestedUsd),
        supportedTokens: ['USDC'],
        supportedChains: Object.keys(rails),
        topUpInstructions: {
          step1: `POST ${topUp.path} without a payment, to get the requirements`,
          step2: 'Sign one of the payments that it accepts',
          step3: `POST ${topUp.path} with the payment in ${topUp.paymentHeader}`,
          receiverWallet: first?.payTo,
          tokenAddress: first?.rail.asset,
          tokenDecimals: first?.rail.decimals,
          network: first?.rail.network,
          minimumAmountUsd: minimumTopUpUsd,
        },
        siwxChallenge: challenge(state),
      }
      return reply(state, required(state), body)
    },
  }
}

/** What a payment of `picoUsd` on a chain must be. A USDC is a dollar. */
export function requirementOf(
  { rail, payTo, agent }: Chain,
  { topUp }: WalletTerms,
  picoUsd: bigint,
): PaymentRequirement {
  const { network, asset, family, tokenName: name, tokenVersion: version } = rail
  return {
    scheme: 'exact',
    network,
    amount: String(picoUsd / picoPerUnit(rail.decimals)),
    asset,
    payTo,
    maxTimeoutSeconds: topUp.maxTimeoutSeconds,
    extra: { name, version, ...(family === 'solana' && { feePayer: agent }) },
  }
}

/** The value of the smallest unit of a dollar token, in pico-dollars. */
export const picoPerUnit = (decimals: number): bigint => 10n ** BigInt(12 - decimals)
