import { z } from 'zod'
import type { DeepReadonly } from '../lib/json.ts'
import { amountText } from '../lib/schemas.ts'

/** Why a sign-in is refused. */
export const signInRefusals = [
  'payload',
  'message',
  'address',
  'chain',
  'domain',
  'nonce',
  'timestamp',
  'expired',
  'future',
  'early',
  'signature',
  'replayed',
  'otherWallet',
] as const
export type SignInRefusal = (typeof signInRefusals)[number]

/** Sign-ins that a service must refuse, and why. */
export const badSignIns = {
  'repeated-sign-in': 'replayed',
  'expired-sign-in': 'expired',
  'future-sign-in': 'future',
  'other-domain-sign-in': 'domain',
  'other-signer-sign-in': 'signature',
  'other-chain-sign-in': 'chain',
  'changed-signature-sign-in': 'signature',
  'changed-text-sign-in': 'signature',
  'unreadable-sign-in': 'payload',
} as const satisfies Readonly<Record<string, SignInRefusal>>
export type BadSignIn = keyof typeof badSignIns
export const isBadSignIn = (name: string): name is BadSignIn => Object.hasOwn(badSignIns, name)

/** Whether a sign-in is in the legacy header, and the layout of its payload. */
export const signInFormSchema = z.object({ isLegacy: z.boolean(), layout: z.enum(['message', 'fields']) })
export type SignInForm = DeepReadonly<z.output<typeof signInFormSchema>>

/** Why a payment is refused. */
const paymentRefusals = [
  'malformed',
  'unverified',
  'belowMinimum',
  'aboveMaximum',
  'otherResource',
  'replayed',
  'inProgress',
  'settlementFailed',
  'settlementTimeout',
  'unavailable',
] as const
export type PaymentRefusal = (typeof paymentRefusals)[number]

/**
 * Payments that are wrong on purpose, and why they are refused. `above-signed`: it states twice the signed amount.
 * `other-chain`: it is for the test network of its chain.
 */
export const invalidPayments = {
  'other-resource': 'otherResource',
  tampered: 'unverified',
  'above-signed': 'unverified',
  'other-chain': 'unverified',
} as const satisfies Readonly<Record<string, PaymentRefusal>>
export type InvalidPayment = keyof typeof invalidPayments
export const invalidPaymentNames = Object.keys(invalidPayments) as readonly InvalidPayment[]

const milliseconds = z.number().nonnegative()
const headerName = z.string().regex(/^[A-Za-z0-9-]+$/, 'the name of a header')

/** A refusal: its HTTP status, and its `code` in the body; null: not asserted. */
const refusal = z.strictObject({ status: z.int().min(400).max(599), code: z.string().min(1).nullable() })
export type WalletRefusal = z.infer<typeof refusal>

/** USDC on one chain. */
const rail = z.strictObject({
  family: z.enum(['evm', 'solana']),
  /** The CAIP-2 id of the network. */
  network: z.string().regex(/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/, 'a CAIP-2 id, such as "eip155:8453"'),
  /** The contract or the mint of the token. */
  asset: z.string().min(1),
  decimals: z.int().min(0).max(12),
  /** The name and version that an EVM payment signs; not used on Solana. */
  tokenName: z.string(),
  tokenVersion: z.string(),
})
export type Rail = z.infer<typeof rail>

/** The contract of callers that have a wallet instead of an API key. */
export const walletTerms = z.strictObject({
  signIn: z.strictObject({
    header: headerName,
    /** null: there is none. */
    legacyHeader: headerName.nullable(),
    /**
     * What the header holds as base64 JSON. `message`: the signed text with its address and signature. `fields`: the
     * fields of the text with its signature, as in the x402 extension. Callers send the first, and one time in eight the
     * second.
     */
    layouts: z.array(z.enum(['message', 'fields'])).min(1),
    /** The accepted domains. Callers sign for the first. None: the host and port of the base address. */
    domains: z.array(z.string().min(1)),
    statement: z.string().regex(/^[^\n]*$/, 'one line'),
    /** From the time of issue. */
    validityMs: milliseconds,
    /** How long a used nonce is refused. */
    nonceMemoryMs: milliseconds,
    /** How far in the future a sign-in may be issued. */
    futureSkewMs: milliseconds,
    /** How far the field `timestamp` may be from the time of issue. */
    timestampSkewMs: milliseconds,
    shortestNonce: z.int().positive(),
    refusals: z.record(z.enum(signInRefusals), refusal),
  }),
  /** `{walletAddress}` is replaced by the address. */
  balancePath: z.string().includes('{walletAddress}'),
  /** Who may ask for the balance of a wallet. */
  balanceAsker: z.enum(['itself', 'anyone']),
  topUp: z.strictObject({
    path: z.string().regex(/^\/[!-"$-~]*$/, 'a path from "/" on, without spaces, line breaks, and #'),
    paymentHeader: headerName,
    legacyPaymentHeaders: z.array(headerName),
    /** The response headers with the requirements, and with the result of a payment. */
    requiredHeader: headerName,
    resultHeader: headerName,
    minimumUsd: amountText,
    /** null: no maximum. */
    maximumUsd: amountText.nullable(),
    suggestedUsd: amountText,
    /** How long a signed payment is valid. */
    maxTimeoutSeconds: z.int().positive(),
    /** The status of the requirements, and of all other offers to pay. */
    offerStatus: z.int().min(400).max(499),
    refusals: z.record(z.enum(paymentRefusals), refusal),
  }),
  /** By the short name of the chain. */
  rails: z.record(z.string(), rail),
  /** The smallest credit with which a wallet may call; null: the cost of the request. */
  minimumBalanceUsd: amountText.nullable(),
  /** The code of a 402 to a wallet with too little credit; null: not asserted. */
  insufficientCode: z.string().min(1).nullable(),
})
export type WalletTerms = z.infer<typeof walletTerms>

/**
 * The path of a simulated Solana node at the reference service. Clients read the mint and a recent block there, so that
 * they build payments without a network. It is no part of the contract.
 */
export const referenceSolanaNode = '/x402/solana-rpc'

/** How wallets sign in and pay, as documented. Comments mark what the document leaves open: public values. */
export const documentedWallets: WalletTerms = {
  signIn: {
    header: 'SIGN-IN-WITH-X',
    legacyHeader: 'X-Sign-In-With-X',
    layouts: ['message', 'fields'], // public
    domains: [], // open
    statement: 'Sign in to the service', // open: any text is accepted
    validityMs: 5 * 60_000, // public
    nonceMemoryMs: 5.5 * 60_000, // public
    futureSkewMs: 30_000, // public
    timestampSkewMs: 30_000, // public
    shortestNonce: 8, // public
    // The document states 401 for a failed sign-in. The codes, and the last status, are public.
    refusals: {
      payload: refused('X402_SIGN_IN_INVALID_PAYLOAD'),
      message: refused('X402_SIGN_IN_INVALID_MESSAGE'),
      address: refused('X402_SIGN_IN_ADDRESS_MISMATCH'),
      chain: refused('X402_SIGN_IN_UNSUPPORTED_CHAIN'),
      domain: refused('X402_SIGN_IN_DOMAIN_MISMATCH'),
      nonce: refused('X402_SIGN_IN_MISSING_NONCE'),
      timestamp: refused('X402_SIGN_IN_TIMESTAMP_MISMATCH'),
      expired: refused('X402_SIGN_IN_EXPIRED'),
      future: refused('X402_SIGN_IN_FUTURE_TIMESTAMP'),
      early: refused('X402_SIGN_IN_NOT_BEFORE'),
      signature: refused('X402_SIGN_IN_INVALID_SIGNATURE'),
      replayed: refused('X402_SIGN_IN_NONCE_REUSED'),
      otherWallet: refused('X402_WALLET_MISMATCH', 403),
    },
  },
  balancePath: '/x402/balance/{walletAddress}',
  balanceAsker: 'itself', // public
  topUp: {
    path: '/x402/top-up',
    paymentHeader: 'PAYMENT-SIGNATURE',
    legacyPaymentHeaders: ['X-402-Payment', 'X-PAYMENT'],
    requiredHeader: 'PAYMENT-REQUIRED',
    resultHeader: 'PAYMENT-RESPONSE', // public
    minimumUsd: '5',
    maximumUsd: '10000', // public
    suggestedUsd: '10', // public
    maxTimeoutSeconds: 300, // public
    offerStatus: 402, // public
    // Statuses and the codes of the last four are public; the other codes are open.
    refusals: {
      malformed: refused('INVALID_PAYMENT', 400),
      unverified: refused('PAYMENT_VERIFICATION_FAILED', 400),
      belowMinimum: refused('AMOUNT_BELOW_MINIMUM', 400),
      aboveMaximum: refused('AMOUNT_ABOVE_MAXIMUM', 400),
      otherResource: refused('RESOURCE_MISMATCH', 400),
      replayed: refused('PAYMENT_ALREADY_USED', 400),
      inProgress: refused('PAYMENT_IN_PROGRESS', 409),
      settlementFailed: refused('SETTLEMENT_FAILED', 402),
      settlementTimeout: refused('SETTLEMENT_TIMEOUT', 504),
      unavailable: refused('X402_NOT_CONFIGURED', 503),
    },
  },
  // The document names USDC on Base (chain 8453) and on Solana. The rest is public.
  rails: {
    base: {
      family: 'evm',
      network: 'eip155:8453',
      asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      decimals: 6,
      tokenName: 'USD Coin',
      tokenVersion: '2',
    },
    solana: {
      family: 'solana',
      network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
      asset: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
      decimals: 6,
      tokenName: 'USD Coin',
      tokenVersion: '2',
    },
  },
  minimumBalanceUsd: '0.10', // public
  insufficientCode: 'PAYMENT_REQUIRED',
}

function refused(code: string, status = 401): WalletRefusal {
  return { status, code }
}
