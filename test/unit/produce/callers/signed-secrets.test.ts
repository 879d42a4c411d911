import { expect, test } from 'vitest'
import { signedSecrets } from '../../../../src/produce/callers/wallet-kinds.ts'
import { evmWallet, signIn, solanaWallet } from '../../../support/wallet-client.ts'

const header = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')
const times = { domain: 'api.example.org', nowMs: Date.UTC(2026, 0, 15) }

test.each(['message', 'fields'] as const)('the signature of a sign-in is one, in the layout %s', async layout => {
  const value = await signIn(evmWallet(), { ...times, layout })
  const { signature } = JSON.parse(Buffer.from(value, 'base64').toString()) as { readonly signature: string }
  expect(signedSecrets({ 'SIGN-IN-WITH-X': value, accept: 'application/json' })).toEqual([
    signature.slice(2),
    Buffer.from(signature.slice(2), 'hex').toString('base64'),
  ])
})

test('the signature of a Solana wallet is one, also as bytes', async () => {
  const value = await signIn(await solanaWallet(), times)
  const { signature } = JSON.parse(Buffer.from(value, 'base64').toString()) as { readonly signature: string }
  const [text, hex = '', base64] = signedSecrets({ 'SIGN-IN-WITH-X': value })
  expect([text, hex.length, base64]).toEqual([signature, 128, Buffer.from(hex, 'hex').toString('base64')])
})

test('a payment has its signature, or each signature that is in its transaction', () => {
  const signature = `0x${'ab1'.repeat(43)}c`
  expect(signedSecrets({ a: header({ payload: { signature, authorization: { nonce: '0x12' } } }) })[0]).toBe(
    signature.slice(2),
  )
  const signed = Buffer.from(Array.from({ length: 64 }, (_, index) => index + 1))
  const transaction = Buffer.concat([Buffer.from([2]), Buffer.alloc(64), signed, Buffer.from('message')])
  expect(signedSecrets({ a: header({ payload: { transaction: transaction.toString('base64') } }) })).toEqual([
    transaction.toString('base64').slice(88, 172),
    expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{86,88}$/),
    signed.toString('hex'),
  ])
})

test.each(['Bearer eyJ', 'eyJ', header(null), header({ signature: 7, payload: null })])('%s has none', value => {
  expect(signedSecrets({ a: value })).toEqual([])
})
