import { type Lies, lie, replyLie } from './lie.ts'
import { isError, withHeader, withHeaders, withoutHeaders } from './reply-edit.ts'

const dayMs = 86_400_000
const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const

export const occasionalHeaderLies = {
  'header.date.instant': [
    replyLie('weekday-off-by-one', 'Date has the day of the week of tomorrow.', (reply, { arrivedMs }) =>
      withHeader(reply, 'date', date => `${weekdays[new Date(arrivedMs + dayMs).getUTCDay()]}${date.slice(3)}`),
    ),
  ],
  'header.model-id.asked': [
    replyLie(
      'model-id-of-the-default',
      'The model that is named is always the same.',
      (reply, _, contract) => withHeader(reply, `${contract.headerPrefix}model-id`, contract.models.at(-1)?.id ?? ''),
      ['header.model-name.stable'],
    ),
  ],
  'header.model-name.stable': [
    lie('name-by-turns', 'Every second answer has the display name in capitals.', (honest, { headerPrefix }) => {
      let answers = 0
      return {
        finish: (reply, visit) => {
          const meant = honest.finish(reply, visit)
          if (meant.headers[`${headerPrefix}model-name`] === undefined || answers++ % 2 === 0) return meant
          return withHeader(meant, `${headerPrefix}model-name`, name => name.toUpperCase())
        },
      }
    }),
  ],
  'header.booleans': [
    replyLie('booleans-as-digits', 'What is so is 1, and what is not is 0.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}is-content-violation`, value => (value === 'true' ? '1' : '0')),
    ),
    replyLie('booleans-with-capitals', 'What is so is True, and what is not is False.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}is-content-violation`, value => (value === 'true' ? 'True' : 'False')),
    ),
  ],
  'header.timestamp': [
    replyLie('timestamp-in-milliseconds', 'The timestamp is a Unix time.', (reply, { arrivedMs }, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}timestamp`, String(arrivedMs)),
    ),
    replyLie('timestamp-as-date', 'The timestamp is in the HTTP date format.', (reply, { arrivedMs }, contract) =>
      withHeader(reply, `${contract.headerPrefix}timestamp`, new Date(arrivedMs).toUTCString()),
    ),
  ],
  'header.host-name': [
    replyLie('nameless-host', 'The host name is empty.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}host-name`, ''),
    ),
  ],
  'header.model-router': [
    replyLie('nameless-router', 'The router is empty.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}model-router`, ''),
    ),
  ],
  'header.deprecation.pair': [
    replyLie('warning-without-date', 'A deprecated model is warned of without a date.', (reply, _, { headerPrefix }) =>
      withoutHeaders(reply, `${headerPrefix}model-deprecation-date`),
    ),
    replyLie('date-without-warning', 'A deprecated model has a date and no warning.', (reply, _, { headerPrefix }) =>
      withoutHeaders(reply, `${headerPrefix}model-deprecation-warning`),
    ),
  ],
  'header.deprecation.date': [
    replyLie('retirement-in-words', 'The date of a deprecated model is in words.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}model-deprecation-date`, 'June 30, 2027'),
    ),
    replyLie('retirement-in-seconds', 'The date of a deprecated model is a Unix time.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}model-deprecation-date`, '1814313600'),
    ),
  ],
  'header.deprecation.present': [
    replyLie('silent-deprecation', 'Nobody is warned of a deprecated model.', (reply, _, { headerPrefix }) =>
      withoutHeaders(reply, `${headerPrefix}model-deprecation-warning`, `${headerPrefix}model-deprecation-date`),
    ),
  ],
  'header.deprecation.absent': [
    replyLie('all-deprecated', 'Every model is warned of.', (reply, { route }, { headerPrefix }) =>
      route.kind === 'chat' && reply.status === 200
        ? withHeaders(reply, {
            [`${headerPrefix}model-deprecation-warning`]: 'This model will be retired',
            [`${headerPrefix}model-deprecation-date`]: '2027-06-30',
          })
        : reply,
    ),
  ],
  'header.retry-count': [
    replyLie('retries-in-words', 'The number of retries is a word.', reply =>
      withHeader(reply, 'x-retry-count', 'once'),
    ),
  ],
  'header.balance-remaining': [
    replyLie('balance-remaining-for-keys', 'API keys are shown the balance of a wallet.', (reply, { route }) =>
      route.kind === 'chat' && reply.status === 200 ? withHeaders(reply, { 'x-balance-remaining': '4.230000' }) : reply,
    ),
  ],
  'header.payment-required': [
    replyLie('payment-required-on-all-errors', 'Every error has payment requirements.', reply =>
      isError(reply) && reply.status !== 402
        ? withHeaders(reply, { 'payment-required': Buffer.from('{"x402Version":2}').toString('base64') })
        : reply,
    ),
    replyLie('payment-required-on-successes', 'What was paid is stated on every success.', reply =>
      reply.status === 200
        ? withHeaders(reply, { 'payment-required': Buffer.from('{"x402Version":2}').toString('base64') })
        : reply,
    ),
  ],
} as const satisfies Lies
