import { describe } from 'vitest'
import { accusesEach, answerOf, chatAsked, observed, refused, singleAsked, sparesEach } from './observed.ts'

const limits = {
  'x-ratelimit-type': 'user',
  'x-ratelimit-limit': '100',
  'x-ratelimit-remaining': '0',
  'x-ratelimit-reset': '1768478460',
}
const discovery = { x402Version: 2, resource: {}, accepts: [{ scheme: 'exact' }], extensions: {} }

describe('error answers', () => {
  sparesEach({
    'a text as error': refused(chatAsked, 404, { error: 'Invalid request parameters', details: { _errors: [] } }),
    'an object as error': refused(chatAsked, 404, { error: { message: 'Too long', code: 'context_length_exceeded' } }),
    'an offer of payment': refused(chatAsked, 402, discovery),
    'a page of something in front of the service': observed(
      chatAsked,
      answerOf(502, '<html>Bad Gateway</html>', { 'x-service-version': undefined, 'content-type': 'text/html' }),
    ),
    'an empty 504 of something in front of the service': observed(
      singleAsked,
      answerOf(504, '', { 'x-service-version': undefined, 'cf-ray': undefined }),
    ),
    'a custom message beside the error': refused(singleAsked, 429, { error: 'No', customMessage: 'Wait' }, limits),
    'a custom message in the error': refused(singleAsked, 429, { error: { customMessage: 'Wait' } }, limits),
  })

  accusesEach({
    'a line of text': [
      'error.object',
      'the body of a 404 is no JSON object, expected a text or an object as error',
      refused(chatAsked, 404, 'Bad request'),
    ],
    'an empty body': [
      'error.object',
      'the body of a 404 is no JSON object, expected a text or an object as error',
      refused(chatAsked, 404, ''),
    ],
    'an error by another name': [
      'error.object',
      'the body of a 404 has error nothing, expected a text or an object as error',
      refused(chatAsked, 404, { message: 'Bad request' }),
    ],
    'an error of no words': [
      'error.object',
      'the body of a 404 has error "", expected a text or an object as error',
      refused(chatAsked, 404, { error: '' }),
    ],
    'a page that the service itself wrote': [
      'error.object',
      'the body of a 500 is no JSON object, expected a text or an object as error',
      refused(chatAsked, 500, '<html>Oops</html>'),
    ],
    'a 429 of the RPC proxy without its message': [
      'limit.rpc-429',
      'a 429 of the RPC proxy lacks customMessage, expected a message and whole numbers',
      refused(singleAsked, 429, { error: 'No' }, limits),
    ],
    'a 429 of the RPC proxy without its headers': [
      'limit.rpc-429',
      'a 429 of the RPC proxy lacks x-ratelimit-remaining, x-ratelimit-reset, expected a message and whole numbers',
      refused(
        singleAsked,
        429,
        { error: 'No', customMessage: 'Wait' },
        { ...limits, 'x-ratelimit-remaining': undefined, 'x-ratelimit-reset': 'soon' },
      ),
    ],
  })
})
