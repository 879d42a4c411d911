import { type Header, type Json, json, type Reply } from './reply.ts'
import type { Variant } from './variant.ts'

export type Refusal = {
  readonly status: number
  readonly message: string
  readonly code: string
  /** Further members, such as customMessage. */
  readonly more?: Json
  readonly headers?: readonly Header[]
  readonly log?: { readonly subject: string; readonly kind: string }
}

export const invalid = (message: string): Refusal => ({ status: 400, message, code: 'INVALID_REQUEST' })

/** A refusal in the error layout of the variant. */
export function refusalReply({ status, message, code, more = {}, headers = [] }: Refusal, { errors }: Variant): Reply {
  switch (errors) {
    case 'text':
      return json(status, { error: message, code, ...more }, headers)
    case 'nested':
      return json(status, { error: { message, code, type: 'api_error', ...more }, ...more }, headers)
    case 'message':
      return json(status, { message, code, status, ...more }, headers)
    case 'detail':
      return json(status, { detail: message, code, ...more }, headers)
    case 'list':
      return json(status, { errors: [{ title: message, code, status: `${status}` }], code, ...more }, headers)
    case 'problem':
      return {
        ...json(status, { type: 'about:blank', title: code, status, detail: message, code, ...more }, headers),
        type: 'application/problem+json',
      }
    case 'with-details':
      return json(
        status,
        { error: message, code, details: { _errors: [], request: { _errors: [message] } }, ...more },
        headers,
      )
  }
}

const abuseTexts: Readonly<Record<Variant['abuseWords'], (seconds: number) => string>> = {
  plain: seconds =>
    `Too many failed attempts (> 20) resulting in a non-success status code. Please wait ${seconds}s and try again.`,
  'spelled-out': seconds => `Your recent requests kept failing. Please wait ${seconds} seconds before retrying.`,
  'in-30s': seconds => `Error budget exhausted: wait, and try again in ${seconds}s.`,
  suspended: seconds => `This account is suspended because it failed too often; wait ${seconds} s, then retry.`,
}

export function abuseRefusal(variant: Variant, seconds: number, isRpc: boolean): Refusal {
  const message = abuseTexts[variant.abuseWords](seconds)
  const isLimit = variant.abuseStatus === 429
  return {
    status: variant.abuseStatus,
    message,
    code: 'BLOCKED',
    more: isRpc && isLimit ? { customMessage: message } : {},
    headers: variant.retryAfter ? [['Retry-After', `${seconds}`]] : [],
  }
}

const seller = {
  base: '0x5bA1e12693Dc8F9c48aAD8770482f4739bEeD696',
  solana: '7dHbWXmci3dT8UFYWYZweBLXgycu7Y3iL6trKn1Y7ARj',
}

/** The payment options of the wallet protocol: USDC on Base and on Solana, at least five dollars. */
export const accepts: readonly Json[] = [
  {
    scheme: 'exact',
    network: 'eip155:8453',
    amount: '5000000',
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    payTo: seller.base,
    maxTimeoutSeconds: 300,
    extra: { name: 'USD Coin', version: '2' },
  },
  {
    scheme: 'exact',
    network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    amount: '5000000',
    asset: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
    payTo: seller.solana,
    maxTimeoutSeconds: 300,
    extra: {},
  },
]

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')

/** What a caller without credentials gets from a service that invites wallets. */
export function walletInvitation(path: string, issuedAt: number): Reply {
  const requirements = {
    x402Version: 2,
    resource: { url: path, description: 'Pay with a wallet, or send an API key.', mimeType: 'application/json' },
    accepts,
    extensions: {
      'sign-in-with-x': {
        info: {
          domain: 'api.example.com',
          uri: 'https://api.example.com',
          version: '1',
          nonce: issuedAt.toString(36).padStart(12, 'n'),
          issuedAt: new Date(issuedAt).toISOString(),
        },
        supportedChains: [
          { chainId: 'eip155:8453', type: 'eip191' },
          { chainId: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', type: 'ed25519' },
        ],
      },
    },
  }
  return json(402, requirements, [['PAYMENT-REQUIRED', base64(requirements)]])
}

export const topUpOffer = (): Reply =>
  json(402, { x402Version: 2, accepts }, [['PAYMENT-REQUIRED', base64({ x402Version: 2, accepts })]])
