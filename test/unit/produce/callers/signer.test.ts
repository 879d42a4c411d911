import { beforeAll, describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { type BadSignIn, badSignIns } from '../../../../src/contract/wallets.ts'
import type { WalletCaller } from '../../../../src/produce/callers/caller.ts'
import { createSigner, walletKind } from '../../../../src/produce/callers/signer.ts'
import { evmSignatures } from '../../../../src/service/wallets/evm-signatures.ts'
import { signInChecker } from '../../../../src/service/wallets/sign-in.ts'

const { wallets: terms } = documentedContract
const nowMs = Date.UTC(2026, 0, 15, 12)
const origin = 'https://api.example.org'

beforeAll(() => evmSignatures.load())

async function walletOn(chain: 'base' | 'solana'): Promise<WalletCaller> {
  const rail = terms.rails[chain]
  if (rail === undefined) throw new Error(`no rail ${chain}`)
  const privateKey = '5a'.repeat(32)
  const address = (await walletKind(rail.family)).addressOf(privateKey)
  return { kind: 'wallet', name: 'w0', chain, family: rail.family, network: rail.network, address, privateKey }
}

const signerOf = (wallet: WalletCaller, layouts: typeof terms.signIn.layouts, domains: readonly string[] = []) =>
  createSigner({
    wallets: [wallet],
    terms: { ...terms, signIn: { ...terms.signIn, layouts, domains: [...domains] } },
    origin,
    solanaNode: null,
    runId: 'run-1',
  })

const order = { wallet: 'w0', firstNonce: 0, count: 3, issuedMs: nowMs + 0.25 }

/** The URI in a signed text, or beside it. */
function uriIn(value: string): unknown {
  const payload = JSON.parse(Buffer.from(value, 'base64').toString())
  return payload.uri ?? /^URI: (.+)$/m.exec(payload.message)?.[1]
}

const flaws = Object.entries(badSignIns).flatMap(([flaw, refusal]) =>
  flaw === 'repeated-sign-in' ? [] : [{ flaw: flaw as Exclude<BadSignIn, 'repeated-sign-in'>, refusal }],
)

describe.each(['base', 'solana'] as const)('a wallet on %s', chain => {
  test.each(['message', 'fields'] as const)('signs in with the layout %s, once with each value', async layout => {
    const wallet = await walletOn(chain)
    const values = await signerOf(wallet, [layout]).signIns(order)
    const check = signInChecker(terms, refusal => refusal)
    const address = chain === 'base' ? wallet.address.toLowerCase() : wallet.address
    for (const value of values) expect(check(value, 'api.example.org', nowMs)).toEqual({ kind: 'signed-in', address })
    for (const value of values)
      expect(check(value, 'api.example.org', nowMs)).toEqual({ kind: 'refused', refusal: 'replayed' })
  })

  test('is valid from the time of issue until the end of its validity, for its domain only', async () => {
    const wallet = await walletOn(chain)
    const [first = '', second = ''] = await signerOf(wallet, ['message']).signIns(order)
    const check = signInChecker(terms, refusal => refusal)
    expect(check(first, 'api.example.com', nowMs)).toEqual({ kind: 'refused', refusal: 'domain' })
    expect(check(first, 'api.example.org', nowMs + 300_001)).toEqual({ kind: 'refused', refusal: 'expired' })
    expect(check(second, 'api.example.org', nowMs + 299_999)).toMatchObject({ kind: 'signed-in' })
  })

  test('signs for the domain that the profile states', async () => {
    const signer = signerOf(await walletOn(chain), ['message'], ['wallets.example.org'])
    const [value = ''] = await signer.signIns(order)
    expect(signInChecker(terms, refusal => refusal)(value, 'wallets.example.org', nowMs)).toMatchObject({
      kind: 'signed-in',
    })
    expect(uriIn(value)).toBe('https://wallets.example.org')
  })

  test('signs for another domain with the right URI, if it must be refused', async () => {
    const signer = signerOf(await walletOn(chain), ['fields'], ['wallets.example.org'])
    const [bad = ''] = await signer.signIns({ ...order, flaw: 'other-domain-sign-in' })
    expect(uriIn(bad)).toBe('https://wallets.example.org')
  })

  test.each(flaws)('has no other flaw than the one that was ordered: $flaw', async ({ flaw, refusal }) => {
    for (const layout of ['message', 'fields'] as const) {
      const signer = signerOf(await walletOn(chain), [layout])
      const check = signInChecker(terms, found => found)
      const [bad = '', ...more] = await signer.signIns({ ...order, flaw })
      expect(check(bad, 'api.example.org', nowMs)).toEqual({ kind: 'refused', refusal })
      expect(more).toHaveLength(2)
      // A service whose clock is late or early by as much as valid sign-ins allow refuses it, too.
      for (const clockMs of [nowMs - terms.signIn.futureSkewMs, nowMs + terms.signIn.validityMs])
        expect(check(bad, 'api.example.org', clockMs)).toEqual({ kind: 'refused', refusal })
      // Without the rule that it breaks, it would be accepted.
      const lenient = signInChecker(terms, found => (found === refusal ? null : found))(bad, 'api.example.org', nowMs)
      expect(lenient.kind).toBe(flaw === 'unreadable-sign-in' ? 'refused' : 'signed-in')
    }
  })

  test('never shows its private key', async () => {
    const wallet = await walletOn(chain)
    const values = await signerOf(wallet, ['message']).signIns(order)
    for (const value of values)
      expect(Buffer.from(value, 'base64').toString()).not.toContain(wallet.privateKey.slice(0, 16))
  })
})

test('nonces differ between runs, wallets and requests', async () => {
  const wallet = await walletOn('solana')
  const nonceIn = (value = '') => {
    const { message, nonce } = JSON.parse(Buffer.from(value, 'base64').toString())
    return nonce ?? /Nonce: ([0-9a-z]+)/.exec(message)?.[1]
  }
  const runs = ['run-1', 'run-2'].map(runId =>
    createSigner({ wallets: [wallet, { ...wallet, name: 'w1' }], terms, origin, solanaNode: null, runId }),
  )
  const values = await Promise.all(
    runs.flatMap(signer => [signer.signIns(order), signer.signIns({ ...order, wallet: 'w1' })]),
  )
  const nonces = values.flat().map(nonceIn)
  expect(new Set(nonces).size).toBe(12)
  expect(nonces.every(nonce => (nonce?.length ?? 0) >= terms.signIn.shortestNonce)).toBe(true)
})
