import { createHash, randomBytes } from 'node:crypto'
import type { Rail, WalletTerms } from '../../contract/wallets.ts'
import { isLoopback } from '../../lib/loopback.ts'
import { readText } from '../../lib/read-text.ts'
import { UsageError } from '../../lib/usage-error.ts'
import { keyCallers, type Plan, traitsOf } from '../../plan/plan.ts'
import { secretKeys, type Variables } from './api-keys.ts'
import type { WalletCaller } from './caller.ts'
import { paymentPackages } from './payment-maker.ts'
import { walletKind } from './signer.ts'
import { evmWallets, parseEvmKey, parseSolanaKey, solanaKeyTexts } from './wallet-kinds.ts'

/** Private keys of wallets, and whether the user gave them. */
export type WalletKeys = {
  readonly wallets: readonly Omit<WalletCaller, 'address'>[]
  /** The given keys to mask: all keys of the wallets, and the first other ones. */
  readonly given: readonly string[]
}

const variable = 'TURNPIKE_WALLET_KEYS'
const nodeVariable = 'TURNPIKE_SOLANA_NODE'
/** Enough for the keys of ten thousand wallets. */
const maxWalletKeysBytes = 4_194_304

/**
 * The private keys of the wallets of a plan, from its file or the environment. If there are none, they are generated for
 * the run: by chance, or from the name of the run if the target is on this machine. Throws a UsageError that never shows
 * a key.
 */
export function loadWalletKeys(
  plan: Plan,
  terms: WalletTerms,
  runId: string,
  variables: Variables = process.env,
): WalletKeys {
  const { target, callers } = plan
  const { wallets } = callers
  if (wallets === null) return { wallets: [], given: [] }
  const { chains, keysFile } = wallets
  const isOwn = target === null || isLoopback(target)
  const where = keysFile ?? variable
  const text =
    keysFile === null
      ? target === null
        ? ''
        : (variables[variable] ?? '')
      : readText(keysFile, maxWalletKeysBytes, 'a readable file of private keys')
  const given = text.split(/[\s,]+/).filter(key => key !== '')
  const isGenerated = given.length === 0 && keysFile === null
  if (!isGenerated) assertKeys(given, chains.length, where)
  if (isGenerated && !isOwn && pays(plan))
    throw new UsageError({ where: variable, got: 'nothing', expected: 'the private keys of the wallets that pay' })
  if (
    !isOwn &&
    pays(plan) &&
    chains.some(chain => terms.rails[chain]?.family === 'solana') &&
    solanaNodeOf(plan, variables) === null
  )
    throw new UsageError({
      where: nodeVariable,
      got: 'nothing',
      expected: 'the address of a Solana node, for payments',
    })
  const names = callers.names.slice(keyCallers(callers))
  const made = names.map((name, index) => {
    const chain = chains[index] ?? ''
    const rail = terms.rails[chain]
    if (rail === undefined)
      throw new UsageError({
        where: 'callers.chain',
        got: chain,
        expected: `a chain of the profile: ${Object.keys(terms.rails).join(', ')}`,
      })
    const written = given[index]
    const privateKey =
      written === undefined
        ? isOwn
          ? keyFrom(`${runId}/${name}`)
          : randomBytes(32).toString('hex')
        : keyOf(written, index, rail, where)
    return { kind: 'wallet' as const, name, chain, family: rail.family, network: rail.network, privateKey }
  })
  // The same key may be written in several ways.
  if (new Set(made.map(({ family, privateKey }) => `${family} ${privateKey}`)).size < made.length)
    throw new UsageError({ where, got: 'a private key twice', expected: 'one private key for each wallet' })
  return { given: secretKeys(given.slice(0, chains.length), given), wallets: made }
}

/** The wallets with their addresses. Throws a UsageError if a package is not installed that they need. */
export async function loadWallets(plan: Plan, { wallets }: WalletKeys): Promise<readonly WalletCaller[]> {
  const needed = [
    ...(wallets.some(({ family }) => family === 'evm') ? [evmWallets] : []),
    ...(pays(plan) && wallets.length > 0 ? [paymentPackages] : []),
  ]
  const loaded = await Promise.all(needed.map(each => each.load()))
  if (loaded.includes(null)) throw missing([...new Set(needed.flatMap(({ names }) => names))])
  return await Promise.all(
    wallets.map(async wallet => ({
      ...wallet,
      address: (await walletKind(wallet.family)).addressOf(wallet.privateKey),
    })),
  )
}

/** The Solana node for payments; null: not given. The embedded reference service has its own. */
export const solanaNodeOf = ({ target }: Plan, variables: Variables = process.env): string | null =>
  target === null ? null : variables[nodeVariable]?.trim() || null

/** All secrets of a wallet, in the forms in which they are written. */
export const walletSecrets = ({ family, privateKey }: WalletCaller): readonly string[] =>
  family === 'solana' ? [privateKey, ...solanaKeyTexts(privateKey)] : [privateKey]

/** Whether a plan signs payments. */
const pays = ({ callers: { wallets }, calls }: Plan): boolean =>
  (wallets !== null && wallets.topUpUsd !== null) || Object.values(calls).some(call => traitsOf(call).pays)

const missing = (names: readonly string[]): UsageError =>
  new UsageError({
    where: 'callers.wallets',
    got: 'packages that are not installed',
    expected: names.join(', '),
    hint: 'run npm install --include=optional',
  })

function assertKeys(given: readonly string[], wallets: number, where: string): void {
  if (given.length < wallets) {
    const got = given.length === 1 ? '1 private key' : `${given.length} private keys`
    throw new UsageError({ where, got, expected: `${wallets}, one for each wallet of the scenario` })
  }
}

function keyOf(text: string, index: number, { family }: Rail, where: string): string {
  const key = family === 'evm' ? parseEvmKey(text) : parseSolanaKey(text)
  if (key !== null) return key
  const expected = family === 'evm' ? '64 hexadecimal digits, for an EVM chain' : '64 or 32 bytes in base58, for Solana'
  throw new UsageError({ where, got: `something else as private key ${index + 1}`, expected })
}

/** Never used where it could hold money. */
const keyFrom = (text: string): string => createHash('sha256').update(`wallet/${text}`).digest('hex')
