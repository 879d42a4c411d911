import { type HeaderClause, type HeaderRule, headerRules } from '../../contract/headers.ts'
import type { LieRows, Lies, Overrides } from './lie.ts'
import { changeReply, changeReplyIf, dropHeaders, isErrorReply, isStream, setHeader } from './replies.ts'

/** The name and text of a lie that follows from a rule, and its overrides if it needs others. */
type Words = readonly [name: string, text: string, overrides?: Overrides]

/** The words for the lies that follow from rules. A rule without an entry gets its words from the name of its header. */
const words: { readonly [Clause in HeaderClause]?: { readonly missing?: Words; readonly wrong?: Words } } = {
  'header.content-type': { missing: ['untyped-errors', 'Errors have no Content-Type.'] },
  'header.date': {
    missing: ['undated-errors', 'Errors have no Date.'],
    wrong: ['date-in-iso', 'Date is in ISO 8601.'],
  },
  'header.cf-ray': { missing: ['no-ray-on-errors', 'Errors have no CF-RAY.'] },
  'header.version': { missing: ['no-version-on-errors', 'Errors have no version.'] },
  'header.version.format': { wrong: ['semantic-version', 'The version has three numbers.'] },
  'header.model-id': { missing: ['no-model-id-on-streams', 'Streams do not name the model.'] },
  'header.model-name': { missing: ['no-model-name-on-streams', 'Streams have no display name.'] },
  'header.balance.usd': {
    missing: ['no-usd-balance-on-errors', 'Errors have no USD balance.'],
    wrong: ['usd-balance-with-sign', 'The USD balance has a dollar sign.'],
  },
  'header.balance.diem': {
    missing: [
      'no-diem-balance-of-zero',
      'A DIEM balance of zero has no header.',
      changeReplyIf(
        ({ headers }, _, { headerPrefix }) => headers[`${headerPrefix}balance-diem`] === '0',
        dropHeaders('{prefix}balance-diem'),
      ),
    ],
    wrong: [
      'diem-balance-with-unit',
      'The DIEM balance ends in its unit.',
      changeReply(setHeader('{prefix}balance-diem', value => `${value} DIEM`)),
    ],
  },
  'header.booleans': { wrong: ['booleans-as-digits', 'Boolean headers are 1 and 0.'] },
  'header.timestamp': { wrong: ['timestamp-in-milliseconds', 'The timestamp is a Unix time.'] },
  'header.host-name': { wrong: ['nameless-host', 'The host name is empty.'] },
  'header.model-router': { wrong: ['nameless-router', 'The router is empty.'] },
  'header.control-instance': { wrong: ['nameless-instance', 'The instance is empty.'] },
  'header.retry-count': { wrong: ['retries-in-words', 'The number of retries is a word.'] },
}

/** Further lies about the headers of the rules. */
const written = {
  'header.cf-ray': {
    'no-ray-on-streams': ['Streams have no CF-RAY.', changeReplyIf(isStream, dropHeaders('cf-ray'))],
  },
  'header.version.format': {
    'version-of-no-day': [
      'The version has a month above 12.',
      changeReply(setHeader('{prefix}version', value => `${value.slice(0, 4)}13${value.slice(6)}`)),
    ],
    'version-of-no-hour': [
      'The version has an hour above 23.',
      changeReply(setHeader('{prefix}version', value => `${value.slice(0, 9)}24${value.slice(11)}`)),
    ],
    'version-without-time': [
      'The version is a date without a time.',
      changeReply(setHeader('{prefix}version', value => value.slice(0, 8))),
    ],
  },
  'header.balance.usd': {
    'usd-balance-in-exponents': [
      'The USD balance is in scientific notation.',
      changeReply(setHeader('{prefix}balance-usd', value => Number(value).toExponential())),
    ],
  },
  'header.booleans': {
    'booleans-with-capitals': [
      'Boolean headers are True and False.',
      changeReply(setHeader('{prefix}is-content-violation', value => (value === 'true' ? 'True' : 'False'))),
    ],
  },
  'header.timestamp': {
    'timestamp-as-date': [
      'The timestamp is in the HTTP date format.',
      changeReply(setHeader('{prefix}timestamp', (_, __, { arrivedMs }) => new Date(arrivedMs).toUTCString())),
    ],
  },
} satisfies Partial<Record<HeaderClause, LieRows>>

/** The replies without a required header, and their name in words. */
const missingOn = {
  every: [isErrorReply, 'errors'],
  account: [isErrorReply, 'errors'],
  inference: [isStream, 'streams'],
} as const

/** The lie that a required header is missing on some replies. */
function missingLie({ clause, name, on }: HeaderRule<HeaderClause>): LieRows {
  if (on === 'present') return {}
  const [fits, replies] = missingOn[on]
  const short = name.replace('{prefix}', '')
  const [lie, text, overrides] = words[clause]?.missing ?? [
    `no-${short}-on-${replies}`,
    `${replies === 'errors' ? 'Errors' : 'Streams'} have no ${short}.`,
  ]
  return { [lie]: [text, overrides ?? changeReplyIf(fits, dropHeaders(name))] }
}

/** The lie that the headers of a clause have another form. An empty required header would be found like a missing one. */
function wrongLie({ clause, name, on, form }: HeaderRule<HeaderClause>): LieRows {
  if (on !== 'present' && form.wrong === '') return {}
  const short = name.replace('{prefix}', '')
  const [lie, text, overrides] = words[clause]?.wrong ?? [
    `wrong-${short}`,
    `${short} is ${JSON.stringify(form.wrong)}.`,
  ]
  const changes = headerRules.filter(rule => rule.clause === clause).map(rule => setHeader(rule.name, rule.form.wrong))
  return { [lie]: [text, overrides ?? changeReplyIf(() => true, ...changes)] }
}

/** The lies that follow from the rules, and the written ones. */
export const headerLies = Object.fromEntries(
  headerRules.map(rule => [rule.clause, { ...missingLie(rule), ...wrongLie(rule), ...(written as Lies)[rule.clause] }]),
) as Readonly<Record<HeaderClause, LieRows>>
