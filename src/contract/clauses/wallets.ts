import type { ClauseRows } from '../clause.ts'

const wallets = { needs: 'callers with wallets: wallets in the scenario' } as const
const poorWallets = { needs: 'a wallet with too little credit: wallets without top-up in the scenario' } as const

/** How wallets sign in, and what they are offered. */
export const walletClauses = {
  'wallet.inference': [
    '5',
    'sign-ins',
    'A signed payload in SIGN-IN-WITH-X is accepted instead of an API key for inference.',
    { ...wallets, exercisedBy: 'chat', evenIfRefused: true },
  ],
  'wallet.rpc': ['4.3', 'sign-ins', 'The RPC proxy accepts a wallet instead of an API key.', { ...wallets, exercisedBy: 'rpc', evenIfRefused: true }],
  'wallet.legacy-header': ['5', 'sign-ins', 'The payload is also accepted in X-Sign-In-With-X.', wallets],
  'wallet.evm': ['5', 'sign-ins', 'A wallet of an EVM chain signs an EIP-4361 message.', wallets],
  'wallet.solana': ['5', 'sign-ins', 'A wallet of Solana signs a sign-in message with Ed25519.', wallets],
  'wallet.no-account': ['5', 'sign-ins', 'A wallet needs no account.', wallets],
  'wallet.failed': ['5', ['probe', 'sign-ins'], 'A sign-in that is not valid for its request is refused with its documented status.', wallets],
  'wallet.insufficient': ['7', 'wallet-offers', 'A 402 to a wallet has the code PAYMENT_REQUIRED.', poorWallets],
  'wallet.insufficient.help': [
    '7',
    ['wallet-offers', 'unique-ids'],
    'A 402 to a wallet states how to top up, with which tokens and chains, and has a new challenge.',
    poorWallets,
  ],
  'wallet.payment-required': ['7', 'wallet-offers', 'A 402 to a wallet has the requirements in PAYMENT-REQUIRED.', poorWallets],
  'wallet.top-up.offer': [
    '4.1',
    'wallet-offers',
    'A top-up without a payment gets the accepted payments, as accepts. Each is complete, and not below the minimum.',
    { needs: 'a call of the kind top-up', exercisedBy: 'top-up', evenIfRefused: true },
  ],
  'wallet.top-up.rails': [
    '5',
    'wallet-offers',
    'Accepted payments are USDC on Base (chain 8453) and on the Solana mainnet, and nothing else.',
    { needs: 'a call of the kind top-up, or a wallet with too little credit' },
  ],
} satisfies ClauseRows
