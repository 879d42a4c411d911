import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import type { RequestDescriptor } from '../../../../src/observation/requests/request.ts'
import {
  failedClauses,
  failsEach,
  honestHeaders,
  judgedCount,
  observed,
  passesEach,
  responseOf,
  singleDescriptor,
} from './observed.ts'

const { wallets: terms } = documentedContract
const payTo = { evm: `0x${'ab'.repeat(20)}`, solana: 'CKPKJWNdJEqa81x7CkZ14BVPiY6y16Sxs7owznqtWYp5' }
const onBase = {
  scheme: 'exact',
  network: 'eip155:8453',
  asset: terms.rails.base?.asset ?? '',
  amount: '5000000',
  payTo: payTo.evm,
  maxTimeoutSeconds: 300,
  extra: { name: 'USD Coin', version: '2' },
}
const onSolana = {
  ...onBase,
  network: terms.rails.solana?.network ?? '',
  asset: terms.rails.solana?.asset ?? '',
  payTo: payTo.solana,
  extra: { feePayer: payTo.solana },
}
const requirements = { x402Version: 2, resource: { url: 'https://api/x402/top-up' }, accepts: [onBase, onSolana] }
const inVersion1 = ({ amount, ...payment }: typeof onBase | typeof onSolana, network: string) => ({
  ...payment,
  network,
  maxAmountRequired: amount,
  resource: requirements.resource.url,
})
const version1 = { x402Version: 1, accepts: [inVersion1(onBase, 'base'), inVersion1(onSolana, 'solana')] }
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

const asking: RequestDescriptor = { kind: 'top-up', step: 'offer', chain: 'base', address: payTo.evm, payment: null }
const offer = (body: object, header: unknown = body, status = 402): Observation =>
  observed(asking, responseOf(status, body, { 'payment-required': header === null ? undefined : encoded(header) }), {
    chain: 'base',
  })
const accepting = (...accepts: readonly object[]): Observation => offer({ ...requirements, accepts })

const challenge = {
  info: { nonce: 'a1b2c3d4', issuedAt: '2026-01-15T12:00:00.500Z', expirationTime: '2026-01-15T12:05:00.500Z' },
}
const help = {
  error: 'Payment required',
  code: 'PAYMENT_REQUIRED',
  topUpInstructions: { step1: 'Ask' },
  supportedTokens: ['USDC'],
  supportedChains: ['base', 'solana'],
  siwxChallenge: challenge,
}
const poor = (
  body: object,
  header: unknown = requirements,
  request: RequestDescriptor = singleDescriptor,
): Observation =>
  observed(
    request,
    responseOf(402, body, {
      'payment-required': header === null ? undefined : encoded(header),
      'x-ratelimit-limit-requests': '100',
      'x-ratelimit-remaining-requests': '99',
    }),
    { chain: 'base', caller: 'w0' },
  )

const rails =
  'expected the tokens of the profile on base (eip155:8453) and solana (solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp)'

describe('an offer to pay', () => {
  passesEach({
    'with a payment on each chain': offer(requirements),
    'with short names of the networks, and another case': accepting(
      { ...onBase, network: 'base', asset: onBase.asset.toLowerCase() },
      { ...onSolana, network: 'solana' },
    ),
    'in another order, with several payments on a chain': accepting(onSolana, { ...onBase, scheme: 'upto' }, onBase),
    'as a success, since the document does not state the status': offer(requirements, null, 200),
    'that the service cannot make at the moment': observed(asking, responseOf(503, { error: 'No' })),
    'of a service that limits the rate': observed(
      asking,
      responseOf(429, { error: 'No' }, { 'x-ratelimit-type': 'user' }),
    ),
    'of x402 version 1': accepting({ ...onBase, amount: undefined, maxAmountRequired: '5000000' }, onSolana),
    'in the header, beside an empty body': offer({}, requirements),
    'in the header, beside an error': offer({ error: 'Payment required' }, requirements),
    'above the minimum': accepting({ ...onBase, amount: '5000001' }, onSolana),
    'whose header is a bare list of payments': offer(requirements, requirements.accepts),
    'whose header names no resource': offer(requirements, { ...requirements, resource: undefined }),
    'whose header has the payments in another order': offer(requirements, {
      ...requirements,
      accepts: [onSolana, onBase],
    }),
    'whose body is of x402 version 1, and its header of version 2': offer(version1, requirements),
    'whose header is of x402 version 1, and its body of version 2': offer(requirements, version1),
    'whose body names its resource without the host': offer(
      { ...requirements, resource: { url: '/x402/top-up' } },
      requirements,
    ),
    'whose header has members that the body lacks': offer(requirements, { ...requirements, extensions: {} }),
  })

  failsEach({
    'with another status': [
      'wallet.top-up.offer',
      'a top-up without a payment got status 404, expected a list of payments',
      observed(asking, responseOf(404, { error: 'Not found' })),
    ],
    'of nothing': [
      'wallet.top-up.offer',
      'a top-up without a payment got accepts [], expected a list of payments',
      offer({ ...requirements, accepts: [] }),
    ],
    'without an amount and a payee': [
      'wallet.top-up.offer',
      'a payment of accepts lacks a valid amount, payTo, expected each to be complete',
      accepting(onBase, { ...onSolana, amount: undefined, payTo: onBase.payTo }),
    ],
    'of an amount in decimals': [
      'wallet.top-up.offer',
      'a payment of accepts lacks a valid amount, expected each to be complete',
      accepting({ ...onBase, amount: '5.00' }, onSolana),
    ],
    'below the minimum': [
      'wallet.top-up.offer',
      'a payment of accepts asks for 4999999 of the smallest unit, expected at least 5 USD',
      accepting(onBase, { ...onSolana, amount: '4999999' }),
    ],
    'without the name that an EVM wallet signs': [
      'wallet.top-up.offer',
      'a payment of accepts lacks a valid extra, expected each to be complete',
      accepting({ ...onBase, extra: {} }, onSolana),
    ],
    'on one chain': ['wallet.top-up.rails', `accepts lacks a payment on solana, ${rails}`, accepting(onBase)],
    'on another chain': [
      'wallet.top-up.rails',
      `a payment on "eip155:1" is accepted, ${rails}`,
      accepting(onBase, onSolana, { ...onBase, network: 'eip155:1' }),
    ],
    'in another token': [
      'wallet.top-up.rails',
      `the token on base is "0x1", ${rails}`,
      accepting({ ...onBase, asset: '0x1' }, onSolana),
    ],
    'in a token of another name': [
      'wallet.top-up.rails',
      `the token on base has the name "USDC" and the version "2", ${rails}`,
      accepting({ ...onBase, extra: { name: 'USDC', version: '2' } }, onSolana),
    ],
    'without the header': [
      'wallet.payment-required',
      'PAYMENT-REQUIRED is nothing, expected the requirements',
      offer(requirements, null),
    ],
    'with another resource in the header': [
      'wallet.payment-required',
      'PAYMENT-REQUIRED has another resource than the body, expected the same',
      offer(requirements, { ...requirements, resource: { url: 'https://other/x402/top-up' } }),
    ],
    'with another resource in a header of version 1': [
      'wallet.payment-required',
      'PAYMENT-REQUIRED has another resource than the body, expected the same',
      offer(requirements, {
        ...version1,
        accepts: version1.accepts.map(each => ({ ...each, resource: 'https://other/' })),
      }),
    ],
    'with another amount in a body of version 1': [
      'wallet.payment-required',
      'PAYMENT-REQUIRED has another accepts than the body, expected the same',
      offer(
        { ...version1, accepts: version1.accepts.map(each => ({ ...each, maxAmountRequired: '6000000' })) },
        requirements,
      ),
    ],
    'with another version in the header, in the same layout': [
      'wallet.payment-required',
      'PAYMENT-REQUIRED has another x402Version than the body, expected the same',
      offer(requirements, { ...requirements, x402Version: 1 }),
    ],
    'of one chain, in the header': [
      'wallet.top-up.rails',
      `accepts lacks a payment on solana, ${rails}`,
      offer({}, { ...requirements, accepts: [onBase] }),
    ],
    'with another amount in the header': [
      'wallet.payment-required',
      'PAYMENT-REQUIRED has another accepts than the body, expected the same',
      offer(requirements, { ...requirements, accepts: [{ ...onBase, amount: '6000000' }, onSolana] }),
    ],
  })

  test('must have the status of the profile, if it states one', () => {
    const stated = { ...documentedContract, sources: { 'wallets.topUp.offerStatus': 'profile' as const } }
    expect(failedClauses(offer(requirements, requirements, 200), stated)).toMatchObject({
      'wallet.top-up.offer': 'a top-up without a payment got status 200, expected a list of payments',
    })
  })

  test('whose long strings were cut is equal as far as they were recorded', () => {
    const long = { ...requirements, resource: { url: `https://api/${'x'.repeat(300)}` } }
    const recorded = { ...long, resource: { url: long.resource.url.slice(0, 256) } }
    expect(failedClauses(offer(recorded, long))).toEqual({})
    expect(failedClauses(offer(recorded, requirements))).toHaveProperty(['wallet.payment-required'])
  })

  test('whose header was cut is not judged', () => {
    const cut = offer(requirements, null)
    const header = encoded({ ...requirements, resource: 'x'.repeat(9_000) }).slice(0, 8_192)
    const { response } = cut
    const long = {
      ...cut,
      response: response && { ...response, headers: { ...response.headers, 'payment-required': header } },
    }
    expect(failedClauses(long)).toEqual({})
    expect(judgedCount('wallet.payment-required', long)).toBe(0)
  })

  test('to nobody in particular is judged by its chains, and by its header if it has one', () => {
    const contract = { ...documentedContract, auth: { ...documentedContract.auth, noKey: [402] } }
    const body = { ...requirements, extensions: { 'sign-in-with-x': challenge } }
    const discovered = (accepts: readonly object[], header: unknown) =>
      failedClauses(
        observed(
          { kind: 'probe', probe: 'no-key' },
          responseOf(402, { ...body, accepts }, { 'payment-required': encoded(header) }),
        ),
        contract,
      )
    expect(discovered(requirements.accepts, requirements)).toEqual({})
    expect(Object.keys(discovered([onBase], requirements)).toSorted()).toEqual([
      'wallet.payment-required',
      'wallet.top-up.rails',
    ])
  })
})

describe('a 402 to a wallet', () => {
  passesEach({
    'with all that helps': poor(help),
    'with the code and the help inside the error': poor({ error: { message: 'No', ...help } }),
    'with chains by their ids': poor({
      ...help,
      supportedChains: [{ chainId: 8453 }, { chainId: terms.rails.solana?.network }],
    }),
    'with the address of the token': poor({
      ...help,
      supportedTokens: [{ network: 'eip155:8453', address: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' }],
    }),
    'with a challenge that does not say when it was made': poor({
      ...help,
      siwxChallenge: { info: { nonce: 'abcd' } },
    }),
  })

  failsEach({
    'with the code for a key': [
      'wallet.insufficient',
      'the code of a 402 to a wallet is "INSUFFICIENT_BALANCE", expected PAYMENT_REQUIRED',
      poor({ ...help, code: 'INSUFFICIENT_BALANCE' }),
    ],
    'without instructions and tokens': [
      'wallet.insufficient.help',
      'a 402 to a wallet for rpc lacks topUpInstructions, supportedTokens, expected all of them',
      poor({ ...help, topUpInstructions: {}, supportedTokens: undefined }),
    ],
    'with one chain': [
      'wallet.insufficient.help',
      'a 402 to a wallet for rpc supports the chains ["base"], expected base and solana',
      poor({ ...help, supportedChains: ['base'] }),
    ],
    'with another token': [
      'wallet.insufficient.help',
      'a 402 to a wallet for rpc supports the tokens ["USDT"], expected USDC',
      poor({ ...help, supportedTokens: ['USDT'] }),
    ],
    'with an old challenge': [
      'wallet.insufficient.help',
      `a 402 to a wallet for rpc has a challenge issued at "2026-01-15T11:00:00.000Z", at ${honestHeaders.date}, expected a new one`,
      poor({ ...help, siwxChallenge: { info: { issuedAt: '2026-01-15T11:00:00.000Z' } } }),
    ],
    'with a challenge that has expired': [
      'wallet.insufficient.help',
      `a 402 to a wallet for rpc has a challenge that expired at "2026-01-15T11:59:59.000Z", at ${honestHeaders.date}, expected a new one`,
      poor({ ...help, siwxChallenge: { expirationTime: '2026-01-15T11:59:59.000Z' } }),
    ],
    'without the requirements': [
      'wallet.payment-required',
      'PAYMENT-REQUIRED is nothing, expected the requirements',
      poor(help, null),
    ],
    'whose header offers one chain': [
      'wallet.top-up.rails',
      `accepts lacks a payment on solana, ${rails}`,
      poor(help, { ...requirements, accepts: [onBase] }),
    ],
  })

  test('is none to a caller with a key, and none for a payment that failed', () => {
    const toKey = { ...poor({ error: 'No', code: 'INSUFFICIENT_BALANCE' }, null), chain: undefined }
    expect(failedClauses(toKey)).toEqual({})
    const payment = { id: 'w0/1', usd: '5', amount: '5000000', payTo: payTo.evm, isAgain: false }
    const failed = observed(
      { ...asking, step: 'payment', payment },
      responseOf(402, { error: 'SETTLEMENT_FAILED', message: 'No' }),
      { chain: 'base' },
    )
    const clauses = ['wallet.insufficient', 'wallet.insufficient.help', 'wallet.payment-required'] as const
    for (const clause of clauses) expect(judgedCount(clause, failed)).toBe(0)
  })
})
