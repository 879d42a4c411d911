import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { sourceOfValue } from '../../../src/contract/sources.ts'

const contract = { sources: { 'rpc.networks': 'target', 'accounts.default.S.requestsPerMinute': 'profile' } } as const

test.each([
  ['rpc.networks.base-mainnet.baseCredits', 'target'],
  ['accounts.default.S.requestsPerMinute', 'profile'],
  ['accounts.default.S.tokensPerMinute', 'document'],
  ['rpc.requestsPerMinute', 'default'],
  ['rpc.usdPerCredit', 'document'],
  ['models', 'default'],
  ['chat.finishReasons', 'document'],
  ['wallets.signIn.refusals.expired.status', 'document'],
  ['wallets.signIn.refusals.expired.code', 'default'],
  ['wallets.topUp.minimumUsd', 'document'],
  ['wallets.topUp.refusals.replayed.status', 'default'],
] as const)('%s comes from the %s', (path, source) => {
  expect(sourceOfValue(contract, path)).toBe(source)
})

test('without a profile and a target, nothing comes from them', () => {
  expect(documentedContract.sources).toEqual({})
})
