import { z } from 'zod'
import type { DeepReadonly } from '../lib/json.ts'
import { amountText, headerName, keyed, milliseconds, open } from './fields.ts'

/** Why a sign-in is refused. */
const signInRefusals = [
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

const refusalStatus = z.int().min(400).max(599)
/** null: not asserted. */
const refusalCode = z.string().min(1).nullable()

const signInRefusal = z.strictObject({
  status: refusalStatus.describe(
    'the status of a refused sign-in: `payload` (no JSON of a known layout), `message` (no sign-in text), `address` (of another wallet than the text), `chain`, `domain`, `nonce` (missing or short), `timestamp`, `expired`, `future` (issued then), `early` (not valid yet), `signature`, `replayed` (the nonce was used), and `otherWallet` (the balance of another wallet; open in the document)',
  ),
  code: refusalCode.meta(open('its `code`; `null`: open')),
})
const paymentRefusal = z.strictObject({
  status: refusalStatus.describe(
    'the status of a refused payment: `malformed`, `unverified` (signature, time, payee or funds), `belowMinimum`, `aboveMaximum`, `otherResource` (signed for another one), `replayed` (it was settled before), `inProgress` (it is being settled), `settlementFailed`, `settlementTimeout`, and `unavailable` (payments cannot be checked now); open in the document',
  ),
  code: refusalCode.describe('its `error`; `null`: open'),
})
export type WalletRefusal = z.infer<typeof signInRefusal>

/** USDC on one chain. */
const rail = z.strictObject({
  family: z.enum(['evm', 'solana']).describe('`evm` or `solana`, for a chain on which USDC is accepted'),
  network: z
    .string()
    .regex(/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/, 'a CAIP-2 id, such as "eip155:8453"')
    .describe('its CAIP-2 id, such as `eip155:8453`'),
  asset: z.string().min(1).describe('the contract or the mint of USDC on it'),
  decimals: z.int().min(0).max(12).describe('the decimals of the token'),
  tokenName: z.string().describe('the name of the token in an EVM payment'),
  tokenVersion: z.string().describe('its version there'),
})
export type Rail = z.infer<typeof rail>

/** The contract of callers that have a wallet instead of an API key. */
export const walletTerms = z.strictObject({
  signIn: z.strictObject({
    header: headerName.describe('the header with the sign-in of a wallet, base64 JSON'),
    legacyHeader: headerName.nullable().describe('its old name, which is also accepted; `null`: there is none'),
    layouts: z
      .array(
        z
          .enum(['message', 'fields'])
          .describe(
            'what that JSON has: `message`, the signed text with `address`, `signature`, `timestamp` and `chainId`; or `fields`, the fields of the text one by one, as in the x402 extension. Callers send the first of the list, and one time in eight the second; the reference service accepts all; open in the document',
          ),
      )
      .min(1)
      .meta({ isOpen: true }),
    domains: z
      .array(
        z
          .string()
          .min(1)
          .describe(
            'the domains for which a wallet may sign in; callers name the first. An empty list: the host and port of the base address; open in the document',
          ),
      )
      .meta({ isOpen: true }),
    uri: z
      .string()
      .regex(/^https?:\/\/[!-"$-~]+$/, 'an address such as "https://api.example.com"')
      .nullable()
      .meta(
        open(
          'the URI in the signed text; `null`: the origin of the base address, or `https://` and the first of `domains` if that is another host; open in the document',
        ),
      ),
    statement: z
      .string()
      .regex(/^[^\n]*$/, 'one line')
      .meta(open('the sentence in the signed text; any text is accepted; open in the document')),
    validityMs: milliseconds.meta(open('how long a sign-in is valid, from its time of issue; open in the document')),
    nonceMemoryMs: milliseconds.meta(open('how long a used nonce is refused; open in the document')),
    futureSkewMs: milliseconds.meta(open('how far in the future a sign-in may be issued; open in the document')),
    timestampSkewMs: milliseconds.meta(
      open('how far the field `timestamp` may be from the time of issue; open in the document'),
    ),
    shortestNonce: z.int().positive().meta(open('the minimum length of a nonce; open in the document')),
    // The status of a failed sign-in is documented, but for that of another wallet's balance.
    refusals: z.record(z.enum(signInRefusals), signInRefusal).meta({ ...keyed('reason'), isOpen: ['otherWallet'] }),
  }),
  balancePath: z
    .string()
    .includes('{walletAddress}')
    .describe('the balance of a wallet; `{walletAddress}` stands for its address'),
  balanceAsker: z
    .enum(['itself', 'anyone'])
    .meta(open('who may ask for it: the wallet `itself`, signed in, or `anyone`; open in the document')),
  topUp: z.strictObject({
    path: z
      .string()
      .regex(/^\/[!-"$-~]*$/, 'a path from "/" on, without spaces, line breaks, and #')
      .describe('where a wallet buys credit'),
    paymentHeader: headerName.describe('the header with a signed payment, base64 JSON'),
    legacyPaymentHeaders: z.array(headerName.describe('its old names, which are also accepted')),
    requiredHeader: headerName.describe('the header of a 402 with the requirements, base64 JSON'),
    resultHeader: headerName.meta(open('the header with the result of a payment, base64 JSON; open in the document')),
    minimumUsd: amountText.describe('the smallest top-up in dollars, a decimal in quotes'),
    maximumUsd: amountText.nullable().meta(open('the largest; `null`: none; open in the document')),
    suggestedUsd: amountText.meta(
      open('what the service suggests to a wallet with too little credit; open in the document'),
    ),
    maxTimeoutSeconds: z.int().positive().meta(open('how long a signed payment is valid; open in the document')),
    offerStatus: z.int().min(400).max(499).meta(open('the status of a response that offers ways to pay')),
    refusals: z.record(z.enum(paymentRefusals), paymentRefusal).meta({ ...keyed('reason'), isOpen: true }),
  }),
  rails: z.record(z.string(), rail).meta({ ...keyed('chain'), isOpen: true }),
  minimumBalanceUsd: amountText
    .nullable()
    .meta(
      open(
        'the smallest credit with which a wallet may call, in dollars, a decimal in quotes; `null`: what the request costs; open in the document',
      ),
    ),
  insufficientCode: z
    .string()
    .min(1)
    .nullable()
    .describe('the code of a 402 to a wallet with too little credit; `null`: open'),
})
export type WalletTerms = z.infer<typeof walletTerms>

/**
 * The path of a simulated Solana node at the reference service. Clients read the mint and a recent block there, so that
 * they build payments without a network. It is not part of the contract.
 */
export const referenceSolanaNode = '/x402/solana-rpc'

/** How wallets sign in and pay, as documented. Comments mark what the document leaves open: public values. */
export const documentedWallets: WalletTerms = {
  signIn: {
    header: 'SIGN-IN-WITH-X',
    legacyHeader: 'X-Sign-In-With-X',
    layouts: ['message', 'fields'], // public
    domains: [], // open
    uri: null, // open
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

/** The domain and the URI that a wallet signs in for. `origin`: of the target, whose public name may be another one. */
export function signInAt(
  { domains: [stated], uri }: Pick<WalletTerms['signIn'], 'domains' | 'uri'>,
  origin: string,
): { readonly domain: string; readonly uri: string } {
  const { host, hostname } = new URL(origin)
  const domain = stated ?? host
  const isHere = domain === host || domain === hostname
  return { domain, uri: uri ?? (isHere ? origin : `https://${domain}`) }
}

function refused(code: string, status = 401): WalletRefusal {
  return { status, code }
}
