import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../../src/contract/documented.ts'
import { chargeOf } from '../../../../../src/judge/audits/ledger/charge.ts'
import { expectedCharge } from '../../../../../src/judge/audits/ledger/prices.ts'
import { shownCredits } from '../../../../../src/judge/audits/ledger/shown.ts'
import { createFindingLog } from '../../../../../src/judge/findings/findings.ts'
import { parsePico, pico } from '../../../../../src/lib/money.ts'
import type { FailureReason, Observation } from '../../../../../src/observation/observation.ts'
import {
  batchDescriptor,
  batchObserved,
  chatDescriptor,
  chatObserved,
  completion,
  observed,
  refused,
  responseOf,
  rpcHeaders,
  singleDescriptor,
  singleObserved,
  streamObserved,
} from '../../checks/observed.ts'

const failed = (request: Observation['request'], reason: FailureReason) =>
  observed(request, null, { headersMs: null, outcome: { kind: 'failed', reason, detail: '' } })
const refusal = (headers: Readonly<Record<string, string | undefined>>) =>
  refused(singleDescriptor, 400, { error: 'No' }, { ...rpcHeaders, ...headers })
const usd = (amount: string) => parsePico(amount) ?? 0n
const replay = { group: 4, role: 'duplicate' as const, concurrent: false }
const replayed = observed(
  { ...singleDescriptor, replay },
  responseOf(200, {}, { ...rpcHeaders, 'idempotent-replayed': 'true', 'x-service-rpc-cost-usd': '0.0000125' }),
)

describe('the charge of a request', () => {
  test.each<[string, Observation, kind: string, min: string, max: string]>([
    ['a completion: its cost', chatObserved(completion), 'charged', '0.0003', '0.0003'],
    ['a stream: its cost', streamObserved({}), 'charged', '0.0003', '0.0003'],
    [
      'a completion in DIEM: the same',
      chatObserved({ ...completion, cost: { usd: 0, diem: 0.0003 } }),
      'charged',
      '0.0003',
      '0.0003',
    ],
    [
      'a cost with floating-point noise: a range',
      chatObserved({ ...completion, cost: { usd: 0.00030000000000000003, diem: 0 } }),
      'charged',
      '0.000299999999',
      '0.000300000001',
    ],
    ['a call: its cost', singleObserved({}), 'charged', '0.0000125', '0.0000125'],
    ['a rounded cost: the shown or the exact one', batchObserved([]), 'charged', '0.000040625', '0.00004063'],
    [
      'a rounded cost at another price: any cost that rounds to it',
      batchObserved([], { 'x-service-rpc-cost-usd': '0.00004075' }),
      'charged',
      '0.00004074',
      '0.00004076',
    ],
    [
      'a rejection by the node with a cost: its cost',
      observed(batchDescriptor, responseOf(400, { error: 'No' }, { ...rpcHeaders, 'x-service-rpc-credits': '20' })),
      'charged',
      '0.0000125',
      '0.0000125',
    ],
    ['a replay: nothing', replayed, 'replay', '0', '0'],
    [
      'a completion without a cost: its list price',
      chatObserved({ ...completion, cost: undefined }),
      'listed',
      '0.0002999897',
      '0.0003000103',
    ],
    ['a rejection: nothing', refused(chatDescriptor, 429), 'free', '0', '0'],
    ['a 500 of the service: nothing', refused(chatDescriptor, 500), 'free', '0', '0'],
    [
      'a rejection by the RPC proxy: nothing, of its own kind',
      refusal({ 'x-service-rpc-cost-usd': undefined }),
      'refused',
      '0',
      '0',
    ],
    [
      'a rejection with a stated cost of 0: the same',
      refusal({ 'x-service-rpc-credits': '0', 'x-service-rpc-cost-usd': '0' }),
      'refused',
      '0',
      '0',
    ],
    [
      'a rejected probe of the RPC proxy: the same',
      refused({ kind: 'probe', probe: 'batch-too-long' }, 400),
      'refused',
      '0',
      '0',
    ],
    [
      'a rejected probe of another endpoint: nothing',
      refused({ kind: 'probe', probe: 'wrong-media-type' }, 415),
      'free',
      '0',
      '0',
    ],
    [
      'a probe that may be accepted: its cost',
      observed({ kind: 'probe', probe: 'key-of-one-character' }, responseOf(200, {}, rpcHeaders)),
      'charged',
      '0.0000125',
      '0.0000125',
    ],
    [
      'the same probe in a later run: nothing',
      observed(
        { kind: 'probe', probe: 'key-of-one-character' },
        responseOf(200, {}, { ...rpcHeaders, 'idempotent-replayed': 'true' }),
      ),
      'replay',
      '0',
      '0',
    ],
    ['a replay: nothing', replayed, 'replay', '0', '0'],
    [
      'a replay to a second attempt: the first may have been charged',
      { ...replayed, retried: true },
      'replay',
      '0',
      '0.0000125',
    ],
    [
      'a probe that may be accepted, without a response: up to the maximum',
      failed({ kind: 'probe', probe: 'key-of-one-character' }, 'connection-lost'),
      'unknown',
      '0',
      '0.00015',
    ],
    ['a list: nothing', observed({ kind: 'models' }, responseOf(200, {})), 'free', '0', '0'],
    ['an anonymous caller: nothing', refused({ kind: 'probe', probe: 'bad-key' }, 401), 'free', '0', '0'],
    ['a refused connection: nothing', failed(chatDescriptor, 'connect-refused'), 'free', '0', '0'],
    ['a lost connection: up to the maximum', failed(batchDescriptor, 'connection-lost'), 'unknown', '0', '0.0003'],
    ['a truncated stream: up to the maximum', failed(chatDescriptor, 'stream-truncated'), 'unknown', '0', '0.00268'],
    [
      'a 504 of a gateway: up to the maximum',
      observed(batchDescriptor, responseOf(504, '', { 'x-service-version': undefined })),
      'unknown',
      '0',
      '0.0003',
    ],
  ])('%s', (_, observation, kind, min, max) => {
    const { kind: gotKind, min: gotMin, max: gotMax } = chargeOf(observation, documentedContract) ?? {}
    expect({ kind: gotKind, min: gotMin, max: gotMax }).toEqual({ kind, min: usd(min), max: usd(max) })
  })

  test('a success that does not state its cost is unknown', () => {
    expect(chargeOf(chatObserved({ ...completion, cost: { usd: -1, diem: 0 } }), documentedContract)).toBeNull()
    expect(chargeOf(singleObserved({}, { 'x-service-rpc-cost-usd': undefined }), documentedContract)).toBeNull()
  })

  test("a resource does not state its cost, and costs at most the contract's maximum", () => {
    const resource = (name: string, status = 200) =>
      observed(
        { kind: 'resource', resource: name, body: null, page: null, limit: null, timestampMs: null },
        responseOf(status, {}),
      )
    expect(chargeOf(resource('image'), documentedContract)).toEqual({
      kind: 'unknown',
      min: 0n,
      max: usd('0.25'),
      said: 0n,
    })
    expect(chargeOf(resource('characters'), documentedContract)?.kind).toBe('free')
    expect(chargeOf(resource('image', 400), documentedContract)?.kind).toBe('free')
    const { image } = documentedContract.resources
    if (image === undefined) throw new Error('no image')
    const contract = { ...documentedContract, resources: { image: { ...image, worstUsd: null } } }
    expect(chargeOf(resource('image'), contract)?.max).toBe(usd('1'))
  })

  test('a replay has the charge that must not be taken again', () => {
    expect(chargeOf(replayed, documentedContract)?.said).toBe(pico('0.0000125'))
  })
})

describe('the expected cost of a request by our price list', () => {
  const failing = (credits: string, contract = documentedContract) => {
    const body = { jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'invalid' } }
    return expectedCharge(singleObserved(body, { 'x-service-rpc-credits': credits }), contract)?.credits
  }

  test('is the claimed price if the document leaves it open and the claim is one of its prices', () => {
    expect([failing('20'), failing('5')]).toEqual([20n, 5n])
  })

  test('is the price of a failed item if another price was claimed', () => expect(failing('7')).toBe(5n))

  test('is the price in the profile, whatever was claimed', () => {
    const decided = { ...documentedContract, rpc: { ...documentedContract.rpc, singleErrorIsDiscounted: true } }
    expect(failing('20', decided)).toBe(5n)
  })
})

test('a stream to a wallet may lack what is left after it, since it begins before its cost is known', () => {
  const foundIn = (observation: Observation) => {
    const log = createFindingLog()
    shownCredits({ ...observation, chain: 'base' }, documentedContract, log.reporterFor('ledger'))
    return log.findings().map(({ clause }) => clause)
  }
  expect(foundIn(streamObserved({}))).toEqual([])
  expect(foundIn(chatObserved(completion))).toEqual(['wallet.balance-remaining'])
})
