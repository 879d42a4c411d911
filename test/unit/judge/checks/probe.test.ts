import { describe, expect, test } from 'vitest'
import { documented } from '../../../../src/contract/documented.ts'
import { type ProbeName, probeOf } from '../../../../src/contract/probes.ts'
import { accusations, accusesEach, observed, refused, responseOf, sparesEach } from './observed.ts'

const probe = (name: ProbeName) => ({ kind: 'probe' as const, probe: name })
const request = probe('unsupported-methods-in-batch')
const { names } = probeOf('unsupported-methods-in-batch')

describe('probes', () => {
  sparesEach({
    'a bad key with 401': refused(probe('bad-key'), 401),
    'a wrong media type with 415': refused(probe('wrong-media-type'), 415),
    'a batch that is too long with 400': refused(probe('batch-too-long'), 400),
    'every offending method in the error': refused(request, 400, { error: `Unsupported: ${names.join(', ')}` }),
    'every offending method in the details': refused(request, 400, {
      error: 'Unsupported',
      details: { methods: names },
    }),
    'a short key that is new, or that was used before': observed(
      probe('key-of-one-character'),
      responseOf(200, {}, { 'idempotent-replayed': 'true' }),
    ),
    'a message that is too long to be kept whole': observed(probe('many-unlisted-methods-in-batch'), {
      ...responseOf(400, { error: 'x'.repeat(256) }),
      bytes: 5000,
    }),
    'a caller who asked too often': refused(
      probe('batch-too-long'),
      429,
      { error: 'No' },
      { 'x-ratelimit-type': 'user' },
    ),
    'a service at capacity': refused(probe('wrong-media-type'), 503),
    'an account without money, which is asked for first': refused(probe('batch-too-long'), 402),
    'a gateway that has its own troubles': observed(
      probe('bad-key'),
      responseOf(500, '<html>', { 'x-service-version': undefined }),
    ),
  })

  accusesEach({
    'a bad key that opens an account': [
      'auth.bearer',
      'bad-key got status 200, expected 401',
      observed(probe('bad-key'), responseOf(200, {})),
    ],
    'a bad key that breaks the service': [
      'auth.bearer',
      'bad-key got status 500, expected 401',
      refused(probe('bad-key'), 500),
    ],
    'a bad key that is asked to pay': [
      'auth.bearer',
      'bad-key got status 402, expected 401',
      refused(probe('bad-key'), 402),
    ],
    'a media type that is not looked at': [
      'chat.media-type',
      'wrong-media-type got status 200, expected 415',
      observed(probe('wrong-media-type'), responseOf(200, {})),
    ],
    'a batch that is too long and runs': [
      'rpc.batch.limit',
      'batch-too-long got status 200, expected 400',
      observed(probe('batch-too-long'), responseOf(200, [])),
    ],
    'a batch of unsupported methods that runs': [
      'rpc.batch.rejected',
      'unsupported-methods-in-batch got status 200, expected 400',
      observed(request, responseOf(200, [])),
    ],
    'a short key that is refused': [
      'rpc.replay.key',
      'key-of-one-character got status 400, expected 200',
      refused(probe('key-of-one-character'), 400),
    ],
    'a long key that is taken': [
      'rpc.replay.bad-key',
      'key-of-256-characters got status 200, expected 400',
      observed(probe('key-of-256-characters'), responseOf(200, {})),
    ],
    'a call without a method that the node has answered': [
      'rpc.request',
      'rpc-without-method got status 200, expected 400',
      observed(probe('rpc-without-method'), responseOf(200, {})),
    ],
    'eth_getLogs, which is refused': [
      'rpc.alternatives',
      'stateless-logs got status 400, expected 200',
      refused(probe('stateless-logs'), 400),
    ],
    'a network that is not known and answers': [
      'rpc.network',
      'unknown-network got status 200, expected 400',
      observed(probe('unknown-network'), responseOf(200, {})),
    ],
    'a message that names the first method alone': [
      'rpc.unsupported-method.named',
      `the message is "{\\"error\\":\\"Unsupported: ${names[0]}\\"}", expected it to name ${names.slice(1).join(' and ')}`,
      refused(request, 400, { error: `Unsupported: ${names[0]}` }),
    ],
  })
})

describe('what a profile leaves open', () => {
  const rpc = { ...documented.rpc, namesEveryMethod: false, unknownNetworkStatus: null, invalidRequestStatus: null }
  const idempotency = { ...documented.idempotency, badKey: null }
  sparesEach(
    {
      'a message that names no method': refused(request, 400),
      'a network that is not known and answers': observed(probe('unknown-network'), responseOf(200, {})),
      'a call without a method that the node has answered': observed(probe('rpc-without-method'), responseOf(200, {})),
      'a key that does not match and is taken': observed(probe('key-with-a-dot'), responseOf(200, {})),
    },
    { ...documented, rpc, idempotency },
  )

  test('a key that does not match may have to be as none', () => {
    const contract = { ...documented, idempotency: { ...documented.idempotency, badKey: 'ignored' as const } }
    expect(accusations(observed(probe('key-with-a-dot'), responseOf(200, {})), contract)).toEqual({})
    expect(accusations(refused(probe('key-with-a-dot'), 400), contract)).not.toEqual({})
  })

  test('a method that a profile adds to the allow-list is promised nothing', () => {
    const evm = { ...documented.rpc.methods.evm, eth_accounts: 'standard' as const }
    const contract = { ...documented, rpc: { ...documented.rpc, methods: { ...documented.rpc.methods, evm } } }
    expect(accusations(observed(probe('key-holding-method'), responseOf(200, {})), contract)).toEqual({})
  })
})
