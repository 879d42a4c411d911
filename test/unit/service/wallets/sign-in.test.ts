import { beforeAll, describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { evmSignatures } from '../../../../src/service/wallets/evm-signatures.ts'
import { evmWallet, type SignInOptions, signIn, solanaWallet, type TestWallet } from '../../../support/wallet-client.ts'
import { type Conversation, conversation, item, jsonOf, startWallMs } from '../conversation.ts'

const { refusals } = documentedContract.wallets.signIn
const domain = 'api.example.org'
let evm: TestWallet
let solana: TestWallet

beforeAll(async () => {
  await evmSignatures.load()
  evm = evmWallet()
  solana = await solanaWallet()
})

const open = () => conversation({ wallets: { creditUsd: '3' } })
const header = (wallet: TestWallet, more: Partial<SignInOptions> = {}) =>
  signIn(wallet, { domain, nowMs: startWallMs, ...more })

function ask({ rpc }: Conversation, signed: string, more: Readonly<Record<string, string>> = {}) {
  return rpc(item('eth_chainId'), { key: null, headers: { host: domain, 'sign-in-with-x': signed, ...more } })
}

async function balanceOf(talk: Conversation, wallet: TestWallet, path = wallet.address) {
  const signed = await header(wallet, { nowMs: startWallMs + talk.clock.nowMs() })
  const headers = { host: domain, 'sign-in-with-x': signed }
  return talk.ask({ method: 'GET', path: `/x402/balance/${path}`, key: null, headers })
}

describe.each(['evm', 'solana'] as const)('a wallet of %s', family => {
  const wallet = () => (family === 'evm' ? evm : solana)

  test.each(['message', 'fields'] as const)('signs in with the layout %s, and pays for its call', async layout => {
    const talk = open()
    const reply = ask(talk, await header(wallet(), { layout }))
    expect([reply.status, reply.headers['x-balance-remaining']]).toEqual([200, '2.9999875'])
    expect(reply.headers['x-service-balance-usd']).toBe('3')
    expect(jsonOf(await balanceOf(talk, wallet())).data.balanceUsd).toBe(2.9999875)
  })

  const wrong = (character: string) => (character === '1' ? '2' : '1')
  test.each<[keyof typeof refusals, Partial<SignInOptions>]>([
    ['domain', { domain: 'api.example.com' }],
    ['expired', { issuedMs: startWallMs - 300_001 }],
    ['future', { issuedMs: startWallMs + 31_000 }],
    ['nonce', { nonce: family === 'evm' ? '        ' : 'short' }],
    ['timestamp', { tamper: payload => ({ ...payload, timestamp: startWallMs - 31_000 }) }],
    [
      'address',
      { tamper: payload => ({ ...payload, address: family === 'evm' ? `0x${'12'.repeat(20)}` : '1'.repeat(32) }) },
    ],
    ['chain', { tamper: payload => ({ ...payload, chainId: 'eip155:1' }) }],
    ['chain', { tamper: payload => ({ ...payload, chainId: { toString: 1 } }) }],
    ['message', { tamper: payload => ({ ...payload, message: 'let me in' }) }],
    [
      'message',
      { layout: 'fields', tamper: payload => ({ ...payload, chainId: { toString: 1 }, nonce: [], version: {} }) },
    ],
    ['payload', { tamper: ({ message }) => ({ message }) }],
    [
      'signature',
      { tamper: payload => ({ ...payload, message: String(payload.message).replace('Sign in', 'Sign on') }) },
    ],
    [
      'signature',
      {
        tamper: ({ signature, ...payload }) => {
          const text = String(signature)
          return { ...payload, signature: `${text.slice(0, 9)}${wrong(text.charAt(9))}${text.slice(10)}` }
        },
      },
    ],
  ])('is refused for its %s, at no cost: %#', async (reason, change) => {
    const talk = open()
    const before = jsonOf(await balanceOf(talk, wallet()))
    const options = reason === 'nonce' && family === 'evm' ? {} : change
    const signed =
      options === change
        ? await header(wallet(), change)
        : await header(wallet(), {
            tamper: payload => ({ ...payload, message: String(payload.message).replace(/Nonce: .*/, 'Nonce: short') }),
          })
    const reply = ask(talk, signed)
    expect([reply.status, jsonOf(reply).code]).toEqual([refusals[reason].status, refusals[reason].code])
    expect(reply.headers).not.toHaveProperty('x-balance-remaining')
    expect(jsonOf(await balanceOf(talk, wallet()))).toEqual(before)
  })

  test('is refused when it uses a nonce again, and accepted when the service has forgotten it', async () => {
    const talk = open()
    const nonce = 'nonce-is-used-twice'.replaceAll('-', '')
    expect(ask(talk, await header(wallet(), { nonce })).status).toBe(200)
    const again = ask(talk, await header(wallet(), { nonce }))
    expect([again.status, jsonOf(again).code]).toEqual([401, 'X402_SIGN_IN_NONCE_REUSED'])
    await talk.clock.run(new Promise<void>(resolve => talk.clock.at(330_001, resolve)))
    const later = { nonce, nowMs: startWallMs + 330_001 }
    expect(ask(talk, await header(wallet(), later)).status).toBe(200)
  })

  test('uses up its nonce although the call is refused', async () => {
    const talk = conversation()
    const signed = await header(wallet())
    expect(ask(talk, signed).status).toBe(402)
    expect(ask(talk, signed).status).toBe(401)
  })

  test('may not ask for the balance of another wallet', async () => {
    const reply = await balanceOf(open(), wallet(), (family === 'evm' ? solana : evm).address)
    expect([reply.status, jsonOf(reply).code]).toEqual([403, 'X402_WALLET_MISMATCH'])
  })
})

test('a wallet of another chain is refused', async () => {
  const reply = ask(open(), await header(evm, { chainId: 1 }))
  expect([reply.status, jsonOf(reply).code]).toEqual([401, 'X402_SIGN_IN_UNSUPPORTED_CHAIN'])
})

test('every check of a wallet gives the same result, whenever it comes', async () => {
  const talk = open()
  const wallet = evmWallet()
  for (let round = 0; round < 5; round++) {
    expect(ask(talk, await header(wallet)).status).toBe(200)
    const flipped = await header(wallet, {
      tamper: payload => {
        const signature = String(payload.signature)
        return { ...payload, signature: signature.slice(0, -2) + (signature.endsWith('1b') ? '1c' : '1b') }
      },
    })
    expect(ask(talk, flipped).status).toBe(401)
    const stolen = await signIn({ ...wallet, sign: evmWallet().sign }, { domain, nowMs: startWallMs })
    expect(ask(talk, stolen).status).toBe(401)
  }
})

test('a sign-in takes precedence over a key, and a call with a key is not a call of the wallet', async () => {
  const talk = open()
  const both = ask(talk, await header(evm), { authorization: 'Bearer ref_default_ada' })
  expect(both.headers['x-service-balance-usd']).toBe('3')
  const wrong = ask(talk, 'nonsense', { authorization: 'Bearer ref_default_ada' })
  expect([wrong.status, jsonOf(wrong).code]).toEqual([401, 'X402_SIGN_IN_INVALID_PAYLOAD'])
  expect(talk.rpc(item('eth_chainId')).headers).not.toHaveProperty('x-balance-remaining')
})

test('a wallet has the limits of an account', async () => {
  const talk = open()
  const statuses: number[] = []
  for (let call = 0; call < 101; call++) statuses.push(ask(talk, await header(solana)).status)
  expect(statuses).toEqual([...Array(100).fill(200), 429])
})

test('a wallet below the minimum balance learns how to pay, with a new challenge each time', async () => {
  const talk = conversation({ wallets: { creditUsd: '0.0999' } })
  const ask402 = async () => ask(talk, await header(evm))
  const [first, second] = [await ask402(), await ask402()]
  expect(first.status).toBe(402)
  expect(jsonOf(first)).toMatchObject({
    code: 'PAYMENT_REQUIRED',
    supportedTokens: ['USDC'],
    supportedChains: ['base', 'solana'],
    currentBalanceUsd: 0.0999,
    topUpInstructions: { minimumAmountUsd: 5 },
  })
  const required = JSON.parse(Buffer.from(String(first.headers['payment-required']), 'base64').toString())
  expect(required.accepts.map(({ network, amount }: Record<string, string>) => [network, amount])).toEqual([
    ['eip155:8453', '5000000'],
    ['solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', '5000000'],
  ])
  const nonces = [first, second].map(reply => jsonOf(reply).siwxChallenge.info.nonce)
  expect(new Set(nonces).size).toBe(2)
})

test('a caller without credentials finds the whole offer in the body and in the header', () => {
  const contract = { ...documentedContract, auth: { ...documentedContract.auth, noKey: [402] } }
  const talk = conversation({ contract })
  const reply = talk.rpc(item('eth_chainId'), { key: null, headers: { host: domain } })
  expect(reply.status).toBe(402)
  expect(JSON.parse(Buffer.from(String(reply.headers['payment-required']), 'base64').toString())).toEqual(jsonOf(reply))
  expect(jsonOf(reply)).toMatchObject({
    x402Version: 2,
    resource: { url: `http://${domain}/api/v1/crypto/rpc/ethereum-mainnet` },
    extensions: { 'sign-in-with-x': { info: { domain, version: '1' } } },
  })
})

test('a top-up without a payment says how to pay and how to sign in', () => {
  const reply = conversation().ask({ path: '/x402/top-up', key: null, headers: { host: domain } })
  expect(reply.status).toBe(402)
  expect(jsonOf(reply).extensions['sign-in-with-x']).toMatchObject({
    info: { domain, version: '1' },
    supportedChains: [{ type: 'eip191' }, { type: 'ed25519' }],
  })
})

test('offers and challenges depend on the seed alone', () => {
  const offers = (seed: number) => {
    const talk = conversation({
      seed,
      contract: { ...documentedContract, auth: { ...documentedContract.auth, noKey: [402] } },
    })
    return jsonOf(talk.rpc(item('eth_chainId'), { key: null, headers: { host: domain } }))
  }
  expect(offers(1)).toEqual(offers(1))
  expect(offers(1).accepts[0].payTo).not.toBe(offers(2).accepts[0].payTo)
  expect(offers(1).extensions['sign-in-with-x'].info.nonce).not.toBe(offers(2).extensions['sign-in-with-x'].info.nonce)
})

test('a profile changes headers, domains, statuses and codes', async () => {
  const { wallets } = documentedContract
  const signInTerms = {
    ...wallets.signIn,
    header: 'X-Wallet',
    legacyHeader: null,
    domains: ['first.example', 'second.example'],
    refusals: { ...wallets.signIn.refusals, domain: { status: 418, code: null } },
  }
  const contract = { ...documentedContract, wallets: { ...wallets, signIn: signInTerms, minimumBalanceUsd: null } }
  const talk = conversation({ contract, wallets: { creditUsd: '0.05' } })
  const askAs = async (host: string, name: string) =>
    talk.rpc(item('eth_chainId'), { key: null, headers: { host: domain, [name]: await header(evm, { domain: host }) } })
  expect((await askAs('second.example', 'x-wallet')).status).toBe(200)
  const refused = await askAs(domain, 'x-wallet')
  expect([refused.status, jsonOf(refused)]).toEqual([418, { error: 'Authentication failed: domain' }])
  expect((await askAs('first.example', 'x-sign-in-with-x')).status).toBe(401)
})
