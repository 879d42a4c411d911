import { fromBase58, toBase58 } from '../../lib/base58.ts'
import { isObject } from '../../lib/json.ts'
import { digestHex } from '../wallets/identity.ts'

export type SolanaContext = {
  readonly seed: number
  readonly slug: string
  readonly wallMs: number
  readonly params: readonly unknown[]
}
type Method = (context: SolanaContext) => unknown

const millisecondsPerSlot = 400
/** A slot, and when it was, in Unix milliseconds. */
const knownSlot = { slot: 300_000_000, wallMs: 1_732_000_000_000 }
/** Slots without a block. */
const skippedSlots = 21_000_000
const blockhashLifetime = 150
const signatureBytes = 64

const slotOf = ({ wallMs }: SolanaContext): number =>
  knownSlot.slot + Math.max(0, Math.floor((wallMs - knownSlot.wallMs) / millisecondsPerSlot))
const heightOf = (context: SolanaContext): number => slotOf(context) - skippedSlots

const inContext = (context: SolanaContext, value: unknown) => ({
  context: { apiVersion: '2.0.0', slot: slotOf(context) },
  value,
})

const digest = ({ seed, slug }: SolanaContext, name: string): string => digestHex(`${seed}/${slug}/${name}`)
const key = (context: SolanaContext, name: string): string => toBase58(Buffer.from(digest(context, name), 'hex'))
const lamports = (context: SolanaContext, name: string): number =>
  Number.parseInt(digest(context, name).slice(0, 8), 16)

/** The first signature of a transaction, in the encoding that the second parameter names: its id. */
function signatureOf([text, options]: readonly unknown[]): string | null {
  if (typeof text !== 'string') return null
  const encoding = isObject(options) ? options.encoding : undefined
  const bytes = encoding === 'base64' ? Buffer.from(text, 'base64') : manyFromBase58(text)
  // The first byte counts the signatures, which follow.
  return bytes === null || bytes.length <= signatureBytes ? null : toBase58(bytes.subarray(1, 1 + signatureBytes))
}

/** A whole transaction is longer than `fromBase58` accepts. */
function manyFromBase58(text: string): Buffer | null {
  if (text.length > 1_700) return null
  const size = Math.ceil(text.length * 0.7322)
  const value = [...text].reduce((sum, letter) => sum * 58n + BigInt(fromBase58(letter)?.[0] ?? 0), 0n)
  const bytes = Buffer.from(value.toString(16).padStart(size * 2, '0'), 'hex')
  const start = bytes.findIndex(byte => byte !== 0)
  return start < 0 ? null : bytes.subarray(start)
}

export const solanaMethods: Readonly<Record<string, Method>> = {
  getAccountInfo: context =>
    inContext(context, {
      data: ['', 'base64'],
      executable: false,
      lamports: lamports(context, `balance/${String(context.params[0])}`),
      owner: '11111111111111111111111111111111',
      rentEpoch: 0,
      space: 0,
    }),
  getBalance: context => inContext(context, lamports(context, `balance/${String(context.params[0])}`)),
  getBlockHeight: heightOf,
  getLatestBlockhash: context =>
    inContext(context, {
      blockhash: key(context, `block/${slotOf(context)}`),
      lastValidBlockHeight: heightOf(context) + blockhashLifetime,
    }),
  getLargestAccounts: context =>
    inContext(
      context,
      Array.from({ length: 20 }, (_, rank) => ({
        address: key(context, `large/${rank}`),
        lamports: 1_000_000_000_000_000 - rank * 1_000_000_000,
      })),
    ),
  getProgramAccounts: () => [],
  getSignatureStatuses: context => {
    const [signatures] = context.params
    const slot = slotOf(context)
    const status = { slot, confirmations: null, err: null, status: { Ok: null }, confirmationStatus: 'finalized' }
    return inContext(context, Array.isArray(signatures) ? signatures.map(() => status) : [])
  },
  getSlot: slotOf,
  getSupply: context =>
    inContext(context, {
      total: 590_000_000_000_000_000,
      circulating: 480_000_000_000_000_000,
      nonCirculating: 110_000_000_000_000_000,
      nonCirculatingAccounts: [key(context, 'stake')],
    }),
  getTransaction: () => null,
  sendTransaction: context => signatureOf(context.params) ?? key(context, JSON.stringify(context.params)),
  simulateTransaction: context =>
    inContext(context, {
      err: null,
      logs: [],
      accounts: null,
      unitsConsumed: 150,
      returnData: null,
      innerInstructions: null,
      replacementBlockhash: null,
    }),
}
