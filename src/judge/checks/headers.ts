import type { ClausesOf } from '../../contract/clauses.ts'
import { type Contract, type Model, resourceOf } from '../../contract/contract.ts'
import { quote } from '../../lib/format.ts'
import { parseJson, toObject } from '../../lib/json.ts'
import { memoizeByObject, memoizeLast } from '../../lib/memoize.ts'
import { isDecimal } from '../../lib/numbers.ts'
import type { Observation, ObservedResponse } from '../../observation/observation.ts'
import { authenticatedResponse, is2xx, isFromGateway } from '../../observation/response.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import { type Check, type Expect, expectFor } from './check.ts'
import { priceListOf } from './price-list.ts'

const httpDate =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/
/** The number of time digits is open; hours and minutes are the minimum. */
const versionTime = /^\d{4}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])\.([01]\d|2[0-3])[0-5]\d([0-5]\d+)?$/

const isFilled = (value: string) => value !== ''
// Consecutive responses have the same values, so the last result is reused.
const isHttpDate = memoizeLast((value: string) => httpDate.test(value))
const isVersion = memoizeLast((value: string) => versionTime.test(value))
const isBalance = (value: string) => isDecimal(value.startsWith('-') ? value.slice(1) : value)

const isInference = ({ request }: Observation, contract: Contract): boolean =>
  request.kind === 'chat' ||
  (request.kind === 'resource' && resourceOf(contract, request.resource)?.isInference === true)

type RequiredHeader = HeaderRule<ClausesOf<'headers'>> & { readonly name: string }

const headerRulesOf = memoizeByObject((contract: Contract) => {
  const { headerPrefix: prefix } = contract
  const { usdHeader, diemHeader } = priceListOf(contract)
  const rule = (
    clause: RequiredHeader['clause'],
    name: string,
    fits: RequiredHeader['fits'],
    expected: string,
  ): RequiredHeader => ({ clause, name, fits, expected })
  return {
    ofAll: [
      rule('header.content-type', 'content-type', isFilled, 'a media type'),
      rule('header.date', 'date', isHttpDate, 'an HTTP date'),
      rule('header.cf-ray', 'cf-ray', isFilled, 'a request id'),
      rule('header.version', `${prefix}version`, isFilled, 'a revision'),
    ],
    versionFormat: rule('header.version.format', `${prefix}version`, isVersion, 'YYYYMMDD.HHMMSS'),
    ofInference: [
      rule('header.model-id', `${prefix}model-id`, isFilled, 'the model used'),
      rule('header.model-name', `${prefix}model-name`, isFilled, 'a display name'),
    ],
    ofBalances: [
      rule('header.balance.usd', usdHeader, isBalance, 'a decimal string'),
      rule('header.balance.diem', diemHeader, isBalance, 'a decimal string'),
    ],
  }
})

/** Checks the headers that every response has, and those that depend only on the caller and the request. */
export const checkHeaders: Check<'headers'> = (observation, contract, reporter) => {
  const { response, id } = observation
  if (response === null || isFromGateway(response, contract)) return
  const { ofAll, versionFormat, ofInference, ofBalances } = headerRulesOf(contract)
  for (const rule of ofAll) checkHeader(rule, response, id, reporter)
  if (response.headers[versionFormat.name]) checkHeader(versionFormat, response, id, reporter)
  if (is2xx(response.status) && isInference(observation, contract))
    for (const rule of ofInference) checkHeader(rule, response, id, reporter)
  if (contract.billing.balanceHeaders && authenticatedResponse(observation) !== null)
    for (const rule of ofBalances) checkHeader(rule, response, id, reporter)
}

function checkHeader(
  { clause, name, fits, expected }: RequiredHeader,
  { headers, headersCut, status }: ObservedResponse,
  id: number,
  reporter: ClauseReporter<'headers'>,
): void {
  const value = headers[name]
  if (value === undefined && headersCut) return
  if (value !== undefined && fits(value)) reporter.pass(clause)
  else reporter.fail(clause, `${name} is ${quote(value)} on a ${status}, expected ${expected}`, [id])
}

type ConditionalClause = ClausesOf<'conditional-headers'>

/** The rule for a header that is present. */
type HeaderRule<Clause = ConditionalClause> = {
  readonly clause: Clause
  readonly fits: (value: string) => boolean
  readonly expected: string
}

/** Checks the conditional headers: most are checked only if present, a few also if missing. */
export const checkConditionalHeaders: Check<'conditional-headers'> = (observation, contract, reporter) => {
  const { response, request, id } = observation
  if (response === null || isFromGateway(response, contract)) return
  const { headers, status } = response
  const known = knownHeadersOf(contract)

  for (const name in headers) {
    const rule = known.rules.get(name)
    const value = headers[name]
    if (rule === undefined || value === undefined) continue
    if (rule.fits(value)) reporter.pass(rule.clause)
    else reporter.fail(rule.clause, `${name} is ${quote(value)} on a ${status}, expected ${rule.expected}`, [id])
  }
  if (headers['payment-required'] !== undefined || status >= 400) checkPaymentRequired(response, id, reporter)
  const isWarned = headers[known.deprecationWarning] !== undefined || headers[known.deprecationDate] !== undefined
  if (isWarned || request.kind === 'chat') checkDeprecation(observation, response, known, expectFor(reporter, id))
  const echoed = headers[known.requestTimestamp]
  if (echoed !== undefined) {
    const sent = request.kind === 'resource' ? request.timestampMs : null
    if (echoed === String(sent)) reporter.pass('header.request-timestamp')
    else {
      const message = `${known.requestTimestamp} is ${quote(echoed)}, expected ${sent ?? 'none, since none was sent'}`
      reporter.fail('header.request-timestamp', message, [id])
    }
  }
  if (request.kind !== 'chat' || !is2xx(status)) return

  const used = headers[known.modelId]
  if (used && known.models.has(request.model)) {
    // A response may repeat the option suffix with the model's name.
    const isNamed = (text: string) => text === request.model || text.startsWith(`${request.model}:`)
    // Headers are read as Latin-1; services send names in other scripts as UTF-8.
    const isRequested = isNamed(used) || isNamed(Buffer.from(used, 'latin1').toString('utf8'))
    if (isRequested) reporter.pass('header.model-id.asked')
    else {
      const message = `${known.modelId} is ${quote(used)} on a ${status}, expected ${quote(request.model)}`
      reporter.fail('header.model-id.asked', message, [id])
    }
  }
  if (contract.billing.balanceRemaining === 'anyone' || observation.chain !== undefined) return
  const remaining = headers['x-balance-remaining']
  if (remaining === undefined) return reporter.pass('header.balance-remaining')
  const message = `x-balance-remaining is ${quote(remaining)} for an API key, expected it for wallets only`
  reporter.fail('header.balance-remaining', message, [id])
}

function checkDeprecation(
  { request }: Observation,
  { headers, status, headersCut }: ObservedResponse,
  { deprecationWarning, deprecationDate, models }: KnownHeaders,
  expect: Expect<ConditionalClause>,
): void {
  const warning = headers[deprecationWarning]
  const date = headers[deprecationDate]
  const isWarned = warning !== undefined || date !== undefined
  if (headersCut && (warning === undefined || date === undefined)) return
  if (isWarned) {
    const got = () => `${deprecationWarning} is ${quote(warning)} and ${deprecationDate} is ${quote(date)}`
    expect('header.deprecation.pair', Boolean(warning) && Boolean(date), () => `${got()}, expected both or neither`)
    if (date !== undefined)
      expect(
        'header.deprecation.date',
        isoDate.test(date),
        () => `${deprecationDate} is ${quote(date)}, expected a date in ISO 8601`,
      )
  }
  if (request.kind !== 'chat' || !is2xx(status)) return
  const lifecycle = models.get(request.model)?.lifecycle
  if (lifecycle === 'deprecated')
    expect(
      'header.deprecation.present',
      isWarned,
      () => `a response from ${request.model}, which is deprecated, has no ${deprecationWarning}, expected a warning`,
    )
  if (lifecycle === 'current')
    expect(
      'header.deprecation.absent',
      !isWarned,
      () => `a response from ${request.model}, which is not deprecated, warns of its retirement, expected no warning`,
    )
}

function checkPaymentRequired(
  { headers, status }: ObservedResponse,
  id: number,
  reporter: ClauseReporter<'conditional-headers'>,
) {
  const said = headers['payment-required']
  // A 402 without the header may be for a key, which needs none. A success without it needs no check.
  if (said === undefined && (status === 402 || status < 400)) return
  if (said === undefined || (status === 402 && isEncodedJson(said))) return reporter.pass('header.payment-required')
  const message = `payment-required is ${quote(said)} on a ${status}, expected JSON in base64, and only on a 402`
  reporter.fail('header.payment-required', message, [id])
}

const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/
/** A value longer than the recorded maximum was truncated and cannot be decoded. */
const maxWholeLength = 511

function isEncodedJson(value: string): boolean {
  if (!base64.test(value)) return false
  if (value.length > maxWholeLength) return true
  const decoded = parseJson(Buffer.from(value, 'base64'))
  return toObject(decoded) !== null || Array.isArray(decoded)
}

const day = String.raw`\d{4}(-?)(0[1-9]|1[0-2])\1(0[1-9]|[12]\d|3[01])`
const time = String.raw`T([01]\d|2[0-4])(:?[0-5]\d(:?[0-5]\d|:?60)?)?([.,]\d+)?(Z|[+-]\d{2}(:?\d{2})?)?`
const isoInstant = new RegExp(`^${day}${time}$`)
/** A date, optionally followed by a time. */
const isoDate = new RegExp(`^${day}(${time})?$`)
const wholeNumber = /^\d+$/

type KnownHeaders = {
  readonly rules: ReadonlyMap<string, HeaderRule>
  readonly models: ReadonlyMap<string, Model>
  readonly modelId: string
  readonly deprecationWarning: string
  readonly deprecationDate: string
  readonly requestTimestamp: string
}

const knownHeadersOf = memoizeByObject(
  ({ headerPrefix: prefix, models }: Contract): KnownHeaders => ({
    rules: rulesOf(prefix),
    models: new Map(models.map(model => [model.id, model])),
    modelId: `${prefix}model-id`,
    deprecationWarning: `${prefix}model-deprecation-warning`,
    deprecationDate: `${prefix}model-deprecation-date`,
    requestTimestamp: `${prefix}request-timestamp-ms`,
  }),
)

function rulesOf(prefix: string): ReadonlyMap<string, HeaderRule> {
  const boolean: HeaderRule = {
    clause: 'header.booleans',
    fits: value => value === 'true' || value === 'false',
    expected: 'true or false',
  }
  const text = (clause: ConditionalClause): HeaderRule => ({ clause, fits: value => value !== '', expected: 'a text' })
  return new Map<string, HeaderRule>([
    [`${prefix}is-blurred`, boolean],
    [`${prefix}is-content-violation`, boolean],
    [`${prefix}is-adult-model-content-violation`, boolean],
    [`${prefix}contains-minor`, boolean],
    ['x-auth-refreshed', boolean],
    [
      `${prefix}timestamp`,
      { clause: 'header.timestamp', fits: value => isoInstant.test(value), expected: 'an instant in ISO 8601' },
    ],
    [`${prefix}host-name`, text('header.host-name')],
    [`${prefix}model-router`, text('header.model-router')],
    [`${prefix}control-instance`, text('header.control-instance')],
    [
      'x-retry-count',
      { clause: 'header.retry-count', fits: value => wholeNumber.test(value), expected: 'a whole number' },
    ],
  ])
}

/** Checks that responses are compressed only if requested, and only with a requested encoding. */
export const checkCompression: Check<'compression'> = ({ response, request, id, outcome }, contract, reporter) => {
  if (response === null || request.kind === 'probe' || isFromGateway(response, contract)) return
  const wanted = request.kind === 'chat' ? (request.options?.encoding ?? null) : null
  const encoding = encodingOf(response.headers['content-encoding'])
  if (wanted === null) {
    if (encoding === null) return reporter.pass('header.content-encoding')
    return reporter.fail('header.content-encoding', `content-encoding is ${quote(encoding)}, expected none`, [id])
  }
  const expect = expectFor(reporter, id)
  if (outcome.kind === 'answered' && response.body.kind === 'undecodable') {
    const { body } = response
    return expect('chat.compression.body', false, () => `the body is not valid ${body.encoding}: ${body.why}`)
  }
  if (!is2xx(response.status) || request.kind !== 'chat') return
  if (request.stream) {
    const isPlain = encoding === null
    return expect('chat.compression.stream', isPlain, () => `a stream is encoded as ${quote(encoding)}, expected none`)
  }
  if (encoding !== null && outcome.kind === 'answered') reporter.pass('chat.compression.body')
  const allowed = namesIn(wanted).filter(name => documentedEncodings.includes(name))
  if (encoding === null && (allowed.length === 0 || contract.chat.compression === 'optional')) return
  expect(
    'chat.compression',
    encoding !== null && allowed.includes(encoding),
    () =>
      `content-encoding is ${quote(encoding)} for accept-encoding ${quote(wanted)}, expected ${allowed.join(' or ')}`,
  )
}

const documentedEncodings: readonly string[] = ['gzip', 'br']

/** The content encoding; null if the body is not encoded. */
function encodingOf(header: string | undefined): string | null {
  const encoding = header?.trim().toLowerCase() ?? ''
  return encoding === '' || encoding === 'identity' ? null : encoding
}

/** The encodings in an Accept-Encoding header, except those with a weight of 0. */
const namesIn = (header: string): readonly string[] =>
  header
    .toLowerCase()
    .split(',')
    .filter(each => !/;\s*q=0(\.0*)?\s*$/.test(each))
    .map(each => each.replace(/;.*/, '').trim())
