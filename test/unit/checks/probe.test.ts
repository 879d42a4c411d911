import { describe } from 'vitest'
import { type ProbeName, probeOf } from '../../../src/contract/probes.ts'
import { accusesEach, answerOf, observed, refused, sparesEach } from './observed.ts'

const probe = (name: ProbeName) => ({ kind: 'probe' as const, probe: name })
const asked = probe('unsupported-methods-in-batch')
const { names } = probeOf('unsupported-methods-in-batch')

describe('probes', () => {
  sparesEach({
    'a bad key with 401': refused(probe('bad-key'), 401),
    'a wrong media type with 415': refused(probe('wrong-media-type'), 415),
    'a batch that is too long with 400': refused(probe('batch-too-long'), 400),
    'every offending method in the error': refused(asked, 400, { error: `Unsupported: ${names.join(', ')}` }),
    'every offending method in the details': refused(asked, 400, { error: 'Unsupported', details: { methods: names } }),
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
      answerOf(500, '<html>', { 'x-service-version': undefined }),
    ),
  })

  accusesEach({
    'a bad key that opens an account': [
      'auth.bearer',
      'bad-key was answered with 200, expected 401',
      observed(probe('bad-key'), answerOf(200, {})),
    ],
    'a bad key that breaks the service': [
      'auth.bearer',
      'bad-key was answered with 500, expected 401',
      refused(probe('bad-key'), 500),
    ],
    'a bad key that is asked to pay': [
      'auth.bearer',
      'bad-key was answered with 402, expected 401',
      refused(probe('bad-key'), 402),
    ],
    'a media type that is not looked at': [
      'chat.media-type',
      'wrong-media-type was answered with 200, expected 415',
      observed(probe('wrong-media-type'), answerOf(200, {})),
    ],
    'a batch that is too long and runs': [
      'rpc.batch.limit',
      'batch-too-long was answered with 200, expected 400',
      observed(probe('batch-too-long'), answerOf(200, [])),
    ],
    'a batch of unsupported methods that runs': [
      'rpc.unsupported-method',
      'unsupported-methods-in-batch was answered with 200, expected 400',
      observed(asked, answerOf(200, [])),
    ],
    'a message that names the first method alone': [
      'rpc.unsupported-method.named',
      `the message is "{\\"error\\":\\"Unsupported: ${names[0]}\\"}", expected it to name ${names.slice(1).join(' and ')}`,
      refused(asked, 400, { error: `Unsupported: ${names[0]}` }),
    ],
  })
})
