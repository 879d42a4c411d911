import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { type ProbeName, probeOf } from '../../../../src/contract/probes.ts'
import { loadProfile } from '../../../../src/contract/profile.ts'
import {
  completion,
  failedClauses,
  failsEach,
  observed,
  passesEach,
  refused,
  responseOf,
  result,
  rpcHeaders,
  tokenHeaders,
} from './observed.ts'

const probe = (name: ProbeName) => ({ kind: 'probe' as const, probe: name })
const request = probe('unsupported-methods-in-batch')
const { names } = probeOf('unsupported-methods-in-batch')

/** The response of an honest service that accepts a call. */
const node = (body: unknown = result(1), headers = {}) => responseOf(200, body, { ...rpcHeaders, ...headers })
const results = (count: number) => Array.from({ length: count }, (_, index) => result(index + 1))
const usage = { prompt_tokens: 8, completion_tokens: 1, total_tokens: 9 }
/** The response of an honest service that completes a chat. */
const completed = (members = {}) =>
  responseOf(
    200,
    { ...completion, model: 'ref-nano-3b', usage, cost: null, ...members },
    {
      ...tokenHeaders,
      'x-service-model-id': 'ref-nano-3b',
      'x-service-model-name': 'Reference Nano 3B',
      'x-ratelimit-limit-requests': '500',
      'x-ratelimit-limit-tokens': '1000000',
    },
  )

describe('probes', () => {
  const unlisted = { ...documentedContract, sources: { models: 'default' } } as const
  const unknownModel = refused(probe('empty-account'), 400, { error: 'Unknown model ref-nano-3b' })
  test('a model that only Turnpike assumes may be unknown', () => {
    expect(failedClauses(unknownModel, unlisted)).toEqual({})
    expect(failedClauses(unknownModel)).toHaveProperty(['error.402'])
    expect(failedClauses(refused(probe('empty-account'), 400, { error: 'No' }), unlisted)).toHaveProperty(['error.402'])
  })

  const openAi = loadProfile('scenarios/profiles/openai-compatible.yaml')
  const head = { id: 'chatcmpl-1', object: 'chat.completion', created: completion.created, model: 'any' }
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }]
  const accepted = responseOf(200, { ...head, choices, usage }, {})
  passesEach(
    {
      'a token limit below 0 with 400': refused(probe('token-limit-below-zero'), 400),
      'a fraction of a token with 422': refused(probe('token-limit-fraction'), 422),
      'a server that is busy': refused(probe('token-limit-in-words'), 429),
      'a server that loads its model': refused(probe('token-limit-in-words'), 503),
      'a model that nobody listed': refused(probe('token-limit-in-words'), 404, { error: 'Unknown model' }),
    },
    { ...openAi, sources: { models: 'default' } },
  )
  passesEach(
    { 'a token limit below 0 that a server need not refuse': observed(probe('token-limit-below-zero'), accepted) },
    { ...openAi, promises: { ...openAi.promises, except: [...openAi.promises.except, 'chat.token-limit.*'] } },
  )
  failsEach(
    {
      'an accepted token limit below 0': [
        'chat.token-limit.below-zero',
        'token-limit-below-zero got status 200, expected 400 or 422',
        observed(probe('token-limit-below-zero'), accepted),
      ],
      'a fraction of a token that causes a 500': [
        'chat.token-limit.whole-number',
        'token-limit-fraction got status 500, expected 400 or 422',
        refused(probe('token-limit-fraction'), 500),
      ],
    },
    openAi,
  )

  passesEach({
    'a bad key with 401': refused(probe('bad-key'), 401),
    'a wrong media type with 415': refused(probe('wrong-media-type'), 415),
    'a batch that is too long with 400': refused(probe('batch-too-long'), 400),
    'all offending methods in the error': refused(request, 400, { error: `Unsupported: ${names.join(', ')}` }),
    'all offending methods in the details': refused(request, 400, {
      error: 'Unsupported',
      details: { methods: names },
    }),
    'a short key that is new, or was used before': observed(
      probe('key-of-one-character'),
      node(result(1), { 'idempotent-replayed': 'true' }),
    ),
    'a message too long to be recorded completely': observed(probe('many-unlisted-methods-in-batch'), {
      ...responseOf(400, { error: 'x'.repeat(256) }),
      bytes: 5000,
    }),
    'no images, whatever the key is': refused(probe('bad-key-to-images'), 404),
    'no image without a key': refused(probe('no-key-to-images'), 401),
    'a caller with too many requests': refused(
      probe('batch-too-long'),
      429,
      { error: 'No' },
      { 'x-ratelimit-type': 'user' },
    ),
    'a service at capacity': refused(probe('wrong-media-type'), 503),
    'an account without balance, which is checked first': refused(probe('batch-too-long'), 402),
    'a gateway error': observed(probe('bad-key'), responseOf(500, '<html>', { 'x-service-version': undefined })),
  })

  failsEach({
    'an accepted bad key': [
      'auth.bearer',
      'bad-key got status 200, expected 401',
      observed(probe('bad-key'), completed()),
    ],
    'an image for a bad key': [
      'auth.bearer',
      'bad-key-to-images got status 200, expected 401 or 404 or 405 or 410 or 501',
      observed(probe('bad-key-to-images'), responseOf(200, { images: [] })),
    ],
    'the log of limits without a key': [
      'auth.missing',
      'no-key-to-limit-logs got status 200, expected 401 or 402',
      observed(probe('no-key-to-limit-logs'), responseOf(200, { data: [] })),
    ],
    'a bad key that causes a 500': [
      'auth.bearer',
      'bad-key got status 500, expected 401',
      refused(probe('bad-key'), 500),
    ],
    'a bad key that gets a 402': [
      'auth.bearer',
      'bad-key got status 402, expected 401',
      refused(probe('bad-key'), 402),
    ],
    'an accepted wrong media type': [
      'chat.media-type',
      'wrong-media-type got status 200, expected 415',
      observed(probe('wrong-media-type'), completed()),
    ],
    'an accepted batch that is too long': [
      'rpc.batch.limit',
      'batch-too-long got status 200, expected 400',
      observed(
        probe('batch-too-long'),
        node(results(101), { 'x-service-rpc-credits': '2020', 'x-service-rpc-cost-usd': '0.0012625' }),
      ),
    ],
    'an accepted batch of unsupported methods': [
      'rpc.batch.rejected',
      'unsupported-methods-in-batch got status 200, expected 400',
      observed(request, node(results(5))),
    ],
    'a rejected short key': [
      'rpc.replay.key',
      'key-of-one-character got status 400, expected 200',
      refused(probe('key-of-one-character'), 400),
    ],
    'an accepted long key': [
      'rpc.replay.bad-key',
      'key-of-256-characters got status 200, expected 400',
      observed(probe('key-of-256-characters'), node()),
    ],
    'an accepted call without a method': [
      'rpc.request',
      'rpc-without-method got status 200, expected 400',
      observed(probe('rpc-without-method'), responseOf(200, {})),
    ],
    'a rejected eth_getLogs': [
      'rpc.alternatives',
      'stateless-logs got status 400, expected 200',
      refused(probe('stateless-logs'), 400),
    ],
    'a listed network that is refused': [
      'rpc.network.listed',
      'call-on-second-starknet got status 404, expected 200',
      refused(probe('call-on-second-starknet'), 404),
    ],
    'an accepted unknown network': [
      'rpc.network',
      'unknown-network got status 200, expected 400 or 404',
      observed(probe('unknown-network'), node()),
    ],
    'a message that names only the first method': [
      'rpc.unsupported-method.named',
      `the message is "{\\"error\\":\\"Unsupported: ${names[0]}\\"}", expected it to name ${names.slice(1).join(' and ')}`,
      refused(request, 400, { error: `Unsupported: ${names[0]}` }),
    ],
  })
})

describe('sign-ins that are not valid', () => {
  const known = { code: 'PAYMENT_REQUIRED', error: 'Payment required' }
  const sent = (name: ProbeName, status: number, body: object = { error: 'No' }) => ({
    ...refused(probe(name), status, body),
    chain: 'base',
  })
  passesEach({
    'a repeated one with 401': sent('repeated-sign-in', 401),
    'an unreadable one with 401': sent('unreadable-sign-in', 401),
    'another wallet with 403, or with 401': sent('balance-of-another-wallet', 403),
    'another wallet with 401': sent('balance-of-another-wallet', 401),
    'another wallet as one that is not there': sent('balance-of-another-wallet', 404),
    'a service at capacity': sent('expired-sign-in', 503),
    'a limit of the rate': {
      ...refused(probe('expired-sign-in'), 429, { error: 'No' }, { 'x-ratelimit-type': 'user' }),
      chain: 'base',
    },
  })

  failsEach({
    'an accepted one': [
      'wallet.failed',
      'future-sign-in got status 200, expected 401',
      { ...observed(probe('future-sign-in'), node()), chain: 'base' },
    ],
    'one that is known, but lacks credit': [
      'wallet.failed',
      'repeated-sign-in got status 402, expected 401',
      sent('repeated-sign-in', 402, known),
    ],
    'another status': ['wallet.failed', 'expired-sign-in got status 400, expected 401', sent('expired-sign-in', 400)],
    'the balance of another wallet': [
      'wallet.failed',
      'balance-of-another-wallet got status 200, expected 403 or 401 or 404',
      { ...observed(probe('balance-of-another-wallet'), responseOf(200, { data: {} })), chain: 'base' },
    ],
  })

  test('a profile may let anybody read a balance', () => {
    const wallets = { ...documentedContract.wallets, balanceAsker: 'anyone' as const }
    const shown = observed(probe('balance-of-another-wallet'), responseOf(200, { data: {} }))
    expect(failedClauses(shown, { ...documentedContract, wallets })).toEqual({})
  })
})

describe('an accepted probe is judged as the request that it is', () => {
  const key = probe('key-of-one-character')
  failsEach({
    'the id of another request': ['rpc.id', 'the id was returned as 2, expected 1', observed(key, node(result(2)))],
    'no JSON-RPC response': [
      'rpc.response',
      'a response is {"id":1}: jsonrpc is nothing, expected "2.0"',
      observed(key, node({ id: 1 })),
    ],
    'credits of another price': [
      'rpc.credits.amount',
      '40 credits for eth_chainId on ethereum-mainnet, expected 20',
      observed(key, node(result(1), { 'x-service-rpc-credits': '40', 'x-service-rpc-cost-usd': '0.000025' })),
    ],
    'a cost of another price': [
      'rpc.cost.amount',
      '20 credits cost 0.1 USD, expected about 0.0000125',
      observed(key, node(result(1), { 'x-service-rpc-cost-usd': '0.1' })),
    ],
    'no request id': [
      'rpc.request-id',
      'x-request-id is nothing, expected an id',
      observed(probe('stateless-logs'), node(result(1), { 'x-request-id': undefined })),
    ],
    'another limit': [
      'limit.requests.limit',
      'the stated limit of rpc is 75, expected 100 (default)',
      observed(key, node(result(1), { 'x-ratelimit-limit-requests': '75' })),
    ],
    'a completion of another object': [
      'chat.object',
      'object is "completion", expected "chat.completion"',
      observed(probe('media-type-with-charset'), completed({ object: 'completion' })),
    ],
    'a completion with a wrong total': [
      'chat.usage.sum',
      '8 + 1 tokens have the stated total 8, expected 9',
      observed(probe('media-type-with-charset'), completed({ usage: { ...usage, total_tokens: 8 } })),
    ],
  })
})

test('a family of which no network is listed is asked for nothing', () => {
  const { 'starknet-mainnet': _, 'starknet-sepolia': __, ...networks } = documentedContract.rpc.networks
  const without = { ...documentedContract, rpc: { ...documentedContract.rpc, networks } }
  for (const name of ['evm-method-on-starknet', 'unlisted-method-on-starknet', 'call-on-starknet'] as const) {
    const unknown = refused(probe(name), 404, { error: 'No such path' })
    expect([failedClauses(unknown, without), Object.keys(failedClauses(unknown)).length]).toEqual([{}, 1])
  }
})

test('a network that only Turnpike assumes may be unknown', () => {
  const assumed = { ...documentedContract, sources: { 'rpc.networks': 'default' } } as const
  expect(failedClauses(refused(probe('call-on-solana'), 400), assumed)).toEqual({})
})

describe('open values of a profile', () => {
  const rpc = {
    ...documentedContract.rpc,
    namesEveryMethod: false,
    unknownNetworkStatus: null,
    invalidRequestStatus: null,
  }
  const idempotency = { ...documentedContract.idempotency, badKey: null }
  passesEach(
    {
      'a message that names no method': refused(request, 400),
      'an accepted unknown network': observed(probe('unknown-network'), node()),
      'an accepted call without a method': observed(probe('rpc-without-method'), responseOf(200, {})),
      'an accepted key that does not match': observed(probe('key-with-a-dot'), node()),
    },
    { ...documentedContract, rpc, idempotency },
  )

  test('a key that does not match may have to be ignored', () => {
    const contract = {
      ...documentedContract,
      idempotency: { ...documentedContract.idempotency, badKey: 'ignored' as const },
    }
    expect(failedClauses(observed(probe('key-with-a-dot'), node()), contract)).toEqual({})
    expect(failedClauses(refused(probe('key-with-a-dot'), 400), contract)).not.toEqual({})
  })

  test('a method that a profile adds to the allow-list has no expected status', () => {
    const evm = { ...documentedContract.rpc.methods.evm, eth_accounts: 'standard' as const }
    const contract = {
      ...documentedContract,
      rpc: { ...documentedContract.rpc, methods: { ...documentedContract.rpc.methods, evm } },
    }
    expect(failedClauses(observed(probe('key-holding-method'), node()), contract)).toEqual({})
  })
})
