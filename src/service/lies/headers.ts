import {
  type HeaderClause,
  type HeaderRule,
  headerRules,
  moneyHeaderNames,
  moneyHeadersOf,
} from '../../contract/headers.ts'
import type { LieRow, LieRows, Lies } from './lie.ts'
import {
  dropHeaders,
  hasStatus,
  header,
  isAny,
  isErrorReply,
  isStream,
  type ReplyTest,
  replies,
  setHeader,
} from './replies.ts'

/** The name of a lie that follows from a rule, and its text, or the whole lie if the rule does not say how. */
type Words = readonly [name: string, lie: string | LieRow]

const usdBalance = `{prefix}${moneyHeaderNames.usdBalance}`
const diemBalance = `{prefix}${moneyHeaderNames.diemBalance}`

const isZeroDiem: ReplyTest = ({ headers }, _, contract) => headers[moneyHeadersOf(contract).diemBalance] === '0'

/** The words for the lies that follow from rules. A rule without an entry gets its words from the name of its header. */
const words: { readonly [Clause in HeaderClause]?: { readonly missing?: Words; readonly wrong?: Words } } = {
  'header.content-type': { missing: ['untyped-errors', 'Errors have no Content-Type.'] },
  'header.date': {
    missing: ['undated-errors', 'Errors have no Date.'],
    wrong: ['date-in-iso', header('Date is in ISO 8601.', 'date', value => new Date(value).toISOString())],
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
      replies('A DIEM balance of zero has no header.', isZeroDiem, dropHeaders(diemBalance)),
    ],
    wrong: [
      'diem-balance-with-unit',
      header('The DIEM balance ends in its unit.', diemBalance, value => `${value} DIEM`),
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
const written: Lies = {
  'header.cf-ray': {
    'no-ray-on-streams': replies('Streams have no CF-RAY.', isStream, dropHeaders('cf-ray')),
  },
  'header.version.format': {
    'version-of-no-day': header('The version has a month above 12.', '{prefix}version', value => {
      return `${value.slice(0, 4)}13${value.slice(6)}`
    }),
    'version-of-no-hour': header('The version has an hour above 23.', '{prefix}version', value => {
      return `${value.slice(0, 9)}24${value.slice(11)}`
    }),
    'version-without-time': header('The version is a date without a time.', '{prefix}version', value =>
      value.slice(0, 8),
    ),
  },
  'header.balance.usd': {
    'no-usd-balance-on-bad-requests': replies(
      'Bad requests have no USD balance.',
      hasStatus(400),
      dropHeaders(usdBalance),
    ),
    'no-usd-balance-on-streams': replies('Streams have no USD balance.', isStream, dropHeaders(usdBalance)),
    'usd-balance-with-comma': header('The USD balance has a decimal comma.', usdBalance, value =>
      Number(value).toFixed(4).replace('.', ','),
    ),
  },
  'header.booleans': {
    'booleans-with-capitals': header('Boolean headers are True and False.', '{prefix}is-content-violation', value =>
      value === 'true' ? 'True' : 'False',
    ),
  },
  'header.timestamp': {
    'timestamp-as-date': header(
      'The timestamp is in the HTTP date format.',
      '{prefix}timestamp',
      (_, __, { arrivedMs }) => new Date(arrivedMs).toUTCString(),
    ),
  },
}

/** The replies without a required header, and their name in words. */
const missingOn = {
  every: [isErrorReply, 'Errors'],
  account: [isErrorReply, 'Errors'],
  inference: [isStream, 'Streams'],
} as const

/** The lie that a required header is missing on some replies. */
function missingLie({ clause, name, on }: HeaderRule<HeaderClause>): LieRows {
  if (on === 'present') return {}
  const [fits, kind] = missingOn[on]
  const short = name.replace('{prefix}', '')
  const [lieName, lie] = words[clause]?.missing ?? [`no-${short}-on-${kind.toLowerCase()}`, `${kind} have no ${short}.`]
  return { [lieName]: typeof lie === 'string' ? replies(lie, fits, dropHeaders(name)) : lie }
}

/** The lie that the headers of a clause have another form. An empty required header would be found like a missing one. */
function wrongLie({ clause, name, on, form }: HeaderRule<HeaderClause>): LieRows {
  if (on !== 'present' && form.wrong === '') return {}
  const short = name.replace('{prefix}', '')
  const [lieName, lie] = words[clause]?.wrong ?? [`wrong-${short}`, `${short} is ${JSON.stringify(form.wrong)}.`]
  const changes = headerRules.filter(rule => rule.clause === clause).map(rule => setHeader(rule.name, rule.form.wrong))
  return { [lieName]: typeof lie === 'string' ? replies(lie, isAny, ...changes) : lie }
}

/** The lies that follow from the rules, and the written ones. */
export const headerLies = Object.fromEntries(
  headerRules.map(rule => [rule.clause, { ...missingLie(rule), ...wrongLie(rule), ...written[rule.clause] }]),
) as Readonly<Record<HeaderClause, LieRows>>
