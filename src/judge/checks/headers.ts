import { hasDocumentedBalances } from '../../contract/billing/billing-terms.ts'
import type { ClausesOf } from '../../contract/clauses.ts'
import type { Contract, Model } from '../../contract/contract.ts'
import {
  balanceRemainingHeader,
  type HeaderForm,
  type HeaderRule,
  headerRulesOf,
  isoDate,
} from '../../contract/headers.ts'
import { quote } from '../../lib/format.ts'
import { parseJson, toObject } from '../../lib/json.ts'
import { memoizeByObject } from '../../lib/memoize.ts'
import type { ObservedResponse } from '../../observation/observation.ts'
import { type ChatDescriptor, isChat } from '../../observation/requests/chat.ts'
import { type RequestDescriptor, requestTraits } from '../../observation/requests/request.ts'
import { authenticatedResponse, is2xx, isFromGateway } from '../../observation/response.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import { type Check, type Expect, expectFor } from './check.ts'

/** Checks the headers that every response has, and those that depend only on the caller and the request. */
export const checkHeaders: Check<'headers'> = (observation, contract, reporter) => {
  const { request, response, id } = observation
  if (response === null || isFromGateway(response, contract)) return
  const { headers, headersCut, status } = response
  const isOn = {
    every: true,
    inference: is2xx(status) && requestTraits(request).service(request, contract) === 'inference',
    account: hasDocumentedBalances(contract.billing) && authenticatedResponse(observation) !== null,
  }
  for (const { clause, name, on, form } of headerRulesOf(contract).headers) {
    const value = headers[name]
    if (on === 'present' ? !value : !isOn[on] || (value === undefined && headersCut)) continue
    if (value !== undefined && form.fits(value)) reporter.pass(clause)
    else reporter.fail(clause, wrongHeader(name, value, status, form), [id])
  }
}

const wrongHeader = (name: string, value: string | undefined, status: number, { expected }: HeaderForm): string =>
  `${name} is ${quote(value)} on a ${status}, expected ${expected}`

type ConditionalClause = ClausesOf<'conditional-headers'>

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
    if (rule.form.fits(value)) reporter.pass(rule.clause)
    else reporter.fail(rule.clause, wrongHeader(name, value, status, rule.form), [id])
  }
  if (headers['payment-required'] !== undefined || status >= 400) checkPaymentRequired(response, id, reporter)
  checkDeprecation(response, known, expectFor(reporter, id))
  const echoed = headers[known.requestTimestamp]
  if (echoed === undefined) return
  const sent = requestTraits(request).timestampMs(request)
  if (echoed === String(sent)) return reporter.pass('header.request-timestamp')
  const message = `${known.requestTimestamp} is ${quote(echoed)}, expected ${sent ?? 'none, since none was sent'}`
  reporter.fail('header.request-timestamp', message, [id])
}

/** Checks the headers of a completion about its model, and about the balance of its caller. */
export const checkCompletionHeaders: Check<'conditional-headers', ChatDescriptor> = (
  { request, response, chain, id },
  contract,
  reporter,
) => {
  if (response === null || !is2xx(response.status)) return
  const { headers, status } = response
  const known = knownHeadersOf(contract)
  checkLifecycle(request.model, response, known, expectFor(reporter, id))
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
  if (contract.billing.balanceRemaining === 'anyone' || chain !== undefined) return
  const remaining = headers[balanceRemainingHeader]
  if (remaining === undefined) return reporter.pass('header.balance-remaining')
  const message = `${balanceRemainingHeader} is ${quote(remaining)} for an API key, expected it for wallets only`
  reporter.fail('header.balance-remaining', message, [id])
}

function checkDeprecation(
  { headers, headersCut }: ObservedResponse,
  { deprecationWarning, deprecationDate }: KnownHeaders,
  expect: Expect<ConditionalClause>,
): void {
  const warning = headers[deprecationWarning]
  const date = headers[deprecationDate]
  if (warning === undefined && date === undefined) return
  if (headersCut && (warning === undefined || date === undefined)) return
  const got = () => `${deprecationWarning} is ${quote(warning)} and ${deprecationDate} is ${quote(date)}`
  expect('header.deprecation.pair', Boolean(warning) && Boolean(date), () => `${got()}, expected both or neither`)
  if (date !== undefined)
    expect(
      'header.deprecation.date',
      isoDate.fits(date),
      () => `${deprecationDate} is ${quote(date)}, expected ${isoDate.expected}`,
    )
}

/** Checks that the responses of a model warn of its retirement if, and only if, it is deprecated. */
function checkLifecycle(
  model: string,
  { headers, headersCut }: ObservedResponse,
  known: KnownHeaders,
  expect: Expect<ConditionalClause>,
): void {
  const hasWarning = headers[known.deprecationWarning] !== undefined
  const hasDate = headers[known.deprecationDate] !== undefined
  if (headersCut && !(hasWarning && hasDate)) return
  const isWarned = hasWarning || hasDate
  const lifecycle = known.models.get(model)?.lifecycle
  if (lifecycle === 'deprecated')
    expect(
      'header.deprecation.present',
      isWarned,
      () => `a response from ${model}, which is deprecated, has no ${known.deprecationWarning}, expected a warning`,
    )
  if (lifecycle === 'current')
    expect(
      'header.deprecation.absent',
      !isWarned,
      () => `a response from ${model}, which is not deprecated, warns of its retirement, expected no warning`,
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

type KnownHeaders = {
  readonly rules: ReadonlyMap<string, HeaderRule<ConditionalClause>>
  readonly models: ReadonlyMap<string, Model>
  readonly modelId: string
  readonly deprecationWarning: string
  readonly deprecationDate: string
  readonly requestTimestamp: string
}

const knownHeadersOf = memoizeByObject((contract: Contract): KnownHeaders => {
  const { headerPrefix: prefix, models } = contract
  return {
    rules: new Map(headerRulesOf(contract)['conditional-headers'].map(rule => [rule.name, rule])),
    models: new Map(models.map(model => [model.id, model])),
    modelId: `${prefix}model-id`,
    deprecationWarning: `${prefix}model-deprecation-warning`,
    deprecationDate: `${prefix}model-deprecation-date`,
    requestTimestamp: `${prefix}request-timestamp-ms`,
  }
})

/** Checks that a response is not compressed if its request does not allow it. */
export const checkNoCompression: Check<'compression'> = ({ response, request, id }, contract, reporter) => {
  if (response === null || isFromGateway(response, contract)) return
  if (acceptedBy(request) !== null) return
  const encoding = encodingOf(response.headers['content-encoding'])
  if (encoding === null) reporter.pass('header.content-encoding')
  else reporter.fail('header.content-encoding', `content-encoding is ${quote(encoding)}, expected none`, [id])
}

/** The Accept-Encoding header of a request; null: none. Only completions are requested with one. */
const acceptedBy = (request: RequestDescriptor): string | null =>
  isChat(request) ? (request.options?.encoding ?? null) : null

/** Checks that a completion is compressed with a requested encoding. */
export const checkCompression: Check<'compression', ChatDescriptor> = (
  { response, request, id, outcome },
  contract,
  reporter,
) => {
  const wanted = acceptedBy(request)
  if (response === null || wanted === null || isFromGateway(response, contract)) return
  const encoding = encodingOf(response.headers['content-encoding'])
  const expect = expectFor(reporter, id)
  if (outcome.kind === 'answered' && response.body.kind === 'undecodable') {
    const { body } = response
    return expect('chat.compression.body', false, () => `the body is not valid ${body.encoding}: ${body.why}`)
  }
  if (!is2xx(response.status)) return
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
