import { type Lies, lie, replyLie } from './lie.ts'
import { isError, isStream, withHeader, withoutHeaders } from './reply-edit.ts'

export const headerLies = {
  'header.content-type': [
    replyLie('untyped-errors', 'Errors have no Content-Type.', reply =>
      isError(reply) ? withoutHeaders(reply, 'content-type') : reply,
    ),
  ],
  'header.date': [
    replyLie('undated-errors', 'Errors have no Date.', reply =>
      isError(reply) ? withoutHeaders(reply, 'date') : reply,
    ),
    replyLie('date-in-iso', 'Date is in ISO 8601.', (reply, { arrivedMs }) =>
      withHeader(reply, 'date', new Date(arrivedMs).toISOString()),
    ),
  ],
  'header.cf-ray': [
    replyLie('no-ray-on-errors', 'Errors have no CF-RAY.', reply =>
      isError(reply) ? withoutHeaders(reply, 'cf-ray') : reply,
    ),
    replyLie('no-ray-on-streams', 'Streams have no CF-RAY.', reply =>
      isStream(reply) ? withoutHeaders(reply, 'cf-ray') : reply,
    ),
  ],
  'header.cf-ray.unique': [
    lie('ray-twice', 'Every second answer repeats the CF-RAY of the one before.', honest => {
      let last = ''
      return {
        finish: (reply, visit) => {
          const meant = honest.finish(reply, visit)
          const { 'cf-ray': ray = '' } = meant.headers
          const shown = last === '' ? ray : last
          last = last === '' ? ray : ''
          return withHeader(meant, 'cf-ray', shown)
        },
      }
    }),
    lie('ray-by-connection', 'All answers to one account have the CF-RAY of its first.', honest => {
      const first = new Map<string, string>()
      return {
        finish: (reply, visit) => {
          const meant = honest.finish(reply, visit)
          if (visit.account === null) return meant
          const shown = first.get(visit.account.name) ?? meant.headers['cf-ray'] ?? ''
          first.set(visit.account.name, shown)
          return withHeader(meant, 'cf-ray', shown)
        },
      }
    }),
  ],
  'header.version': [
    replyLie('no-version-on-errors', 'Errors have no version.', (reply, _, { headerPrefix }) =>
      isError(reply) ? withoutHeaders(reply, `${headerPrefix}version`) : reply,
    ),
  ],
  'header.version.format': [
    replyLie('semantic-version', 'The version has three numbers.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}version`, '1.42.0'),
    ),
    replyLie('version-of-no-day', 'The version has more months than a year.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}version`, value => `${value.slice(0, 4)}13${value.slice(6)}`),
    ),
    replyLie('version-of-no-hour', 'The version has more hours than a day.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}version`, value => `${value.slice(0, 9)}24${value.slice(11)}`),
    ),
    replyLie('version-without-time', 'The version is a date alone.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}version`, value => value.slice(0, 8)),
    ),
  ],
  'header.model-id': [
    replyLie('no-model-id-on-streams', 'Streams do not name the model.', (reply, _, { headerPrefix }) =>
      isStream(reply) ? withoutHeaders(reply, `${headerPrefix}model-id`) : reply,
    ),
  ],
  'header.model-name': [
    replyLie('no-model-name-on-streams', 'Streams do not carry the display name.', (reply, _, { headerPrefix }) =>
      isStream(reply) ? withoutHeaders(reply, `${headerPrefix}model-name`) : reply,
    ),
  ],
  'header.balance.usd': [
    replyLie('no-usd-balance-on-errors', 'Errors have no USD balance.', (reply, _, { headerPrefix }) =>
      isError(reply) ? withoutHeaders(reply, `${headerPrefix}balance-usd`) : reply,
    ),
    replyLie('usd-balance-with-sign', 'The USD balance has a dollar sign.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}balance-usd`, value => `$${value}`),
    ),
    replyLie('usd-balance-in-exponents', 'The USD balance is in scientific notation.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}balance-usd`, value => Number(value).toExponential()),
    ),
  ],
  'header.balance.diem': [
    replyLie('no-diem-balance-of-zero', 'A DIEM balance of zero is not shown.', (reply, _, { headerPrefix }) =>
      reply.headers[`${headerPrefix}balance-diem`] === '0'
        ? withoutHeaders(reply, `${headerPrefix}balance-diem`)
        : reply,
    ),
    replyLie('diem-balance-with-unit', 'The DIEM balance has its unit behind it.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}balance-diem`, value => `${value} DIEM`),
    ),
  ],
} as const satisfies Lies
