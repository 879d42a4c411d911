import type { ExcusedClause } from './clause.ts'

const because = 'Callers have API keys; to sign for a wallet, and to pay, is still to come.'

const later = (section: string, says: string): ExcusedClause => ({ section, says, excuse: 'later', because })

/** What the document says of wallets, which have no callers yet. */
export const laterClauses = {
  'wallet.inference': later('5', 'A signed payload in SIGN-IN-WITH-X is taken in place of an API key for inference.'),
  'wallet.rpc': later('4.3', 'The RPC proxy takes a wallet in place of an API key.'),
  'wallet.legacy-header': later('5', 'The payload is taken in X-Sign-In-With-X, too.'),
  'wallet.evm': later('5', 'A wallet of an EVM chain signs an EIP-4361 message.'),
  'wallet.solana': later('5', 'A wallet of Solana signs a sign-in message with Ed25519.'),
  'wallet.failed': later('5', 'A payload that does not authenticate is answered with 401.'),
  'wallet.no-account': later('5', 'A wallet needs no account.'),
  'wallet.limits': later('5', 'A wallet has the same limits as an API key.'),
  'wallet.billing': later('5', 'A wallet is billed as an API key is, for RPC in credits against the same balance.'),
  'wallet.top-up.offer': later('4.1', 'A top-up without a payment is answered with what may be paid, as accepts.'),
  'wallet.top-up.rails': later('5', 'What may be paid is USDC on Base, chain 8453, or on the mainnet of Solana.'),
  'wallet.top-up.credit': later('4.1', 'A top-up with a signed payment in PAYMENT-SIGNATURE adds credit.'),
  'wallet.top-up.legacy-headers': later('5', 'The payment is taken in X-402-Payment and in X-PAYMENT, too.'),
  'wallet.top-up.least': later('8', 'A top-up is at least 5 USD.'),
  'wallet.charge': later('5', 'What a wallet asks for is deducted from its credit.'),
  'wallet.balance': later('4.1', 'The credit of a wallet can be asked for by its address.'),
  'wallet.balance-remaining': later('4.2', 'An inference answer to a wallet has what remains in X-Balance-Remaining.'),
  'wallet.discovery': later('7', 'A 402 to a stranger has x402Version, resource, accepts and the sign-in extension.'),
  'wallet.insufficient': later('7', 'A 402 to a wallet has the code PAYMENT_REQUIRED.'),
  'wallet.insufficient.help': later(
    '7',
    'It says how to top up, with which tokens and chains, and has a new challenge.',
  ),
  'wallet.payment-required': later('7', 'A 402 to a wallet has the requirements in PAYMENT-REQUIRED.'),
} as const satisfies Readonly<Record<string, ExcusedClause>>
