import type { ClauseRows } from '../clause.ts'

const wallets = { needs: 'callers with wallets: wallets in the scenario' } as const
const payments = { needs: 'wallets that pay: top-up, or a call of the kind top-up with pay' } as const

/** The credit of wallets: what they are charged, and what they pay. */
export const walletMoneyClauses = {
  'wallet.limits': ['5', ['limit-headers', 'rate-limits'], 'A wallet has the same limits as an API key.', wallets],
  'wallet.billing': ['5', 'ledger', 'A wallet pays the same prices as an API key, for RPC in credits against the same balance.', wallets],
  'wallet.charge': ['5', 'ledger', "The cost of a wallet's requests, and nothing else, is deducted from its credit.", wallets],
  'wallet.balance': ['4.1', 'ledger', 'The credit of a wallet can be requested by its address.', wallets],
  'wallet.balance-remaining': [
    '4.2',
    'ledger',
    'An inference response to a wallet has in X-Balance-Remaining the credit that is left after the request.',
    wallets,
  ],
  'wallet.top-up.credit': [
    '4.1',
    ['payments', 'ledger'],
    'A top-up with a signed payment in PAYMENT-SIGNATURE adds its amount to the credit once it is settled.',
    payments,
  ],
  'wallet.top-up.once': [
    '4.1',
    'ledger',
    'A payment adds credit once, even if it arrives several times, or several times at once.',
    { needs: 'a payment that arrives several times: a call of the kind top-up with pay and duplicates' },
  ],
  'wallet.top-up.legacy-headers': [
    '5',
    'payments',
    'The payment is also accepted in X-402-Payment and in X-PAYMENT.',
    { needs: 'wallets that pay several times, each time with the next header' },
  ],
  'wallet.top-up.least': [
    '8',
    ['payments', 'ledger'],
    'A top-up is at least 5 USD: a smaller one is refused and adds no credit.',
    { needs: 'a payment below the minimum: a call of the kind top-up with pay and usd' },
  ],
  'wallet.top-up.invalid': [
    '5',
    ['payments', 'ledger'],
    'A payment that was changed after it was signed, or is for another chain or resource, is refused and adds no credit.',
    { needs: 'a payment that is wrong on purpose: a call of the kind top-up with pay and invalid' },
  ],
  'wallet.top-up.refusal': [
    '5',
    ['payments', 'ledger'],
    'A refused payment gets the status of its refusal.',
    { source: 'profile', needs: 'payments that must be refused' },
  ],
  'wallet.top-up.result': [
    '4.1',
    ['payments', 'unique-ids'],
    'The response to a settled payment states in PAYMENT-RESPONSE its success, network and transaction, and if it states a payer and an amount, those of the payment. No two payments have one transaction, and no offer states a success.',
    { source: 'profile', isExtra: true, needs: 'a profile that promises it, and payments that are settled' },
  ],
} satisfies ClauseRows
