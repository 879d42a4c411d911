import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { type ProbeName, probeOf } from '../../../../src/contract/probes.ts'
import { failedClauses, failsEach, observed, passesEach, refused, responseOf } from './observed.ts'

const probe = (name: ProbeName) => ({ kind: 'probe' as const, probe: name })
const request = probe('unsupported-methods-in-batch')
const { names } = probeOf('unsupported-methods-in-batch')

describe('probes', () => {
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
      responseOf(200, {}, { 'idempotent-replayed': 'true' }),
    ),
    'a message too long to be recorded completely': observed(probe('many-unlisted-methods-in-batch'), {
      ...responseOf(400, { error: 'x'.repeat(256) }),
      bytes: 5000,
    }),
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
      observed(probe('bad-key'), responseOf(200, {})),
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
      observed(probe('wrong-media-type'), responseOf(200, {})),
    ],
    'an accepted batch that is too long': [
      'rpc.batch.limit',
      'batch-too-long got status 200, expected 400',
      observed(probe('batch-too-long'), responseOf(200, [])),
    ],
    'an accepted batch of unsupported methods': [
      'rpc.batch.rejected',
      'unsupported-methods-in-batch got status 200, expected 400',
      observed(request, responseOf(200, [])),
    ],
    'a rejected short key': [
      'rpc.replay.key',
      'key-of-one-character got status 400, expected 200',
      refused(probe('key-of-one-character'), 400),
    ],
    'an accepted long key': [
      'rpc.replay.bad-key',
      'key-of-256-characters got status 200, expected 400',
      observed(probe('key-of-256-characters'), responseOf(200, {})),
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
    'an accepted unknown network': [
      'rpc.network',
      'unknown-network got status 200, expected 400',
      observed(probe('unknown-network'), responseOf(200, {})),
    ],
    'a message that names only the first method': [
      'rpc.unsupported-method.named',
      `the message is "{\\"error\\":\\"Unsupported: ${names[0]}\\"}", expected it to name ${names.slice(1).join(' and ')}`,
      refused(request, 400, { error: `Unsupported: ${names[0]}` }),
    ],
  })
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
      'an accepted unknown network': observed(probe('unknown-network'), responseOf(200, {})),
      'an accepted call without a method': observed(probe('rpc-without-method'), responseOf(200, {})),
      'an accepted key that does not match': observed(probe('key-with-a-dot'), responseOf(200, {})),
    },
    { ...documentedContract, rpc, idempotency },
  )

  test('a key that does not match may have to be ignored', () => {
    const contract = {
      ...documentedContract,
      idempotency: { ...documentedContract.idempotency, badKey: 'ignored' as const },
    }
    expect(failedClauses(observed(probe('key-with-a-dot'), responseOf(200, {})), contract)).toEqual({})
    expect(failedClauses(refused(probe('key-with-a-dot'), 400), contract)).not.toEqual({})
  })

  test('a method that a profile adds to the allow-list has no expected status', () => {
    const evm = { ...documentedContract.rpc.methods.evm, eth_accounts: 'standard' as const }
    const contract = {
      ...documentedContract,
      rpc: { ...documentedContract.rpc, methods: { ...documentedContract.rpc.methods, evm } },
    }
    expect(failedClauses(observed(probe('key-holding-method'), responseOf(200, {})), contract)).toEqual({})
  })
})
