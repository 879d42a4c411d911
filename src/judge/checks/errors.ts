import type { Contract } from '../../contract/contract.ts'
import { limitHeadersOf } from '../../contract/limit-headers/limit-headers.ts'
import { quote } from '../../lib/format.ts'
import { toObject } from '../../lib/json.ts'
import type { ObservedResponse } from '../../observation/observation.ts'
import { isDiscovery, isPaymentOffer, namesResource, requirementsIn } from '../../observation/payments.ts'
import { type RequestDescriptor, requestTraits } from '../../observation/requests/request.ts'
import type { RpcDescriptor } from '../../observation/requests/rpc.ts'
import type { Identity } from '../../observation/requests/traits.ts'
import { isAbuseBlock, isConcurrencyRejection, isFromGateway, jsonObject } from '../../observation/response.ts'
import type { Check } from './check.ts'

/** The headers of a limit, in any spelling: `X-RateLimit-Limit`, `RateLimit-Reset`, `RateLimit`, ... */
const limitHeader = /^(x-)?rate-?limit/

/** The clause about the error object of a status. */
const byStatus: Readonly<Partial<Record<number, StatusClause>>> = {
  400: 'error.400.object',
  401: 'error.401.object',
  402: 'error.402.object',
  415: 'error.415.object',
  429: 'error.429.object',
  500: 'error.500.object',
  503: 'error.503.object',
  504: 'error.504.object',
}

type StatusClause = `error.${400 | 401 | 402 | 415 | 429 | 500 | 503 | 504}.object`

/** A 402 to such a request is about a payment, and not about the balance of an account. */
const withoutBalance: readonly Identity[] = ['none', 'payment']

/** Checks the bodies of responses without a success status. */
export const checkErrors: Check<'errors'> = ({ response, request, id }, contract, reporter) => {
  if (response === null || response.status < 400 || isFromGateway(response, contract)) return
  if (response.body.kind === 'undecodable') return
  const body = jsonObject(response)
  const wrong = wrongErrorObject(response, request, contract) ?? wrongType(response)
  if (wrong === null) {
    reporter.pass('error.object')
    if (body !== null) judgeLayout(body)
  } else reporter.fail('error.object', `the body of a ${response.status} ${wrong}`, [id])
  if (isDiscovery(request) && response.status === 402) judgeDiscovery(offerIn(response, contract), response)

  /** The presence of an error is checked before. */
  function judgeLayout(body: Readonly<Record<string, unknown>>) {
    const { status } = response ?? {}
    const clause = status === undefined ? undefined : byStatus[status]
    if (clause === undefined) return
    const lack =
      contract.errors.layout === null || (response !== null && isOffer(response, contract))
        ? null
        : (clause === 'error.400.object' ? missingFromDetailedError : missingFromError)(body)
    if (lack === null) reporter.pass(clause)
    else reporter.fail(clause, `the body of a ${status} has ${lack}`, [id])
    const { insufficientBalanceCode: expected } = contract.errors
    if (
      status !== 402 ||
      expected === null ||
      withoutBalance.includes(requestTraits(request).identity(request)) ||
      isWalletError(body) ||
      response?.headers['payment-required'] !== undefined
    )
      return
    const code = codeOf(body)
    const isStated = code === expected || (contract.errors.layout === null && hasText(body, text => text === expected))
    if (isStated) reporter.pass('error.402.code')
    else reporter.fail('error.402.code', `the code of a 402 is ${quote(code)}, expected ${expected}`, [id])
  }

  /** A caller without credentials is offered a payment. */
  function judgeDiscovery(offer: Body, { headers, headersCut }: ObservedResponse) {
    const { x402Version, accepts, extensions } = offer
    const missing = [
      ...(x402Version === undefined ? ['x402Version'] : []),
      ...(namesResource(offer) ? [] : ['resource']),
      ...(Array.isArray(accepts) && accepts.length > 0 && accepts.every(toObject)
        ? []
        : ['a list of payments as accepts']),
      ...(toObject(extensions)?.['sign-in-with-x'] === undefined ? ['the extension sign-in-with-x'] : []),
      ...(headers['payment-required'] === undefined && !headersCut ? ['the header PAYMENT-REQUIRED'] : []),
    ]
    if (missing.length === 0) return reporter.pass('wallet.discovery')
    reporter.fail('wallet.discovery', `a 402 to a caller without credentials lacks ${missing.join(', ')}`, [id])
  }
}

/** Checks that a 429 of the RPC proxy says which limit rejected the request. */
export const checkProxyLimit: Check<'errors', RpcDescriptor> = ({ response, id }, contract, reporter) => {
  if (response?.status !== 429 || response.body.kind === 'undecodable') return
  if (isAbuseBlock(response, contract) || isConcurrencyRejection(response, contract)) return
  const missing: string[] = []
  // The document does not define the position of the message in the body.
  if (!hasCustomMessage(bodyValue(response))) missing.push('customMessage')
  const { headers } = response
  const hasLimits = Object.keys(headers).some(name => limitHeader.test(name) && headers[name] !== '')
  if (!hasLimits && !response.headersCut && limitHeadersOf(contract.limits).isDocumented)
    missing.push('X-RateLimit headers')
  if (missing.length === 0) reporter.pass('limit.rpc-429')
  else
    reporter.fail(
      'limit.rpc-429',
      `a 429 of the RPC proxy lacks ${missing.join(' and ')}, expected a message and headers about the limit`,
      [id],
    )
}

type Body = Readonly<Record<string, unknown>>

const bodyValue = ({ body }: ObservedResponse): unknown => (body.kind === 'json' ? body.value : null)

/**
 * What a body lacks to be an error object; null: nothing. The document does not show its layout, so any text in any
 * field will do, unless the profile names a layout.
 */
function wrongErrorObject(response: ObservedResponse, request: RequestDescriptor, contract: Contract): string | null {
  const { errors } = contract
  const value = bodyValue(response)
  const body = jsonObject(response)
  if (isOffer(response, contract)) return null
  if (errors.layout === null) {
    // The document has an object for its statuses, and leaves others open. A batch may get a list of JSON-RPC errors.
    const mayBeList =
      byStatus[response.status] === undefined || requestTraits(request).service(request, contract) === 'rpc'
    if (body === null && !(mayBeList && Array.isArray(value) && value.some(toObject)))
      return 'is not a JSON object, expected one with a text'
    return hasText(value) ? null : `is ${quote(value)}, expected an object with a text`
  }
  if (body === null) return 'is not a JSON object, expected a text or an object as error'
  const { error } = body
  const isErrorObject = (typeof error === 'string' && error !== '') || toObject(error) !== null
  if (isErrorObject) return null
  return `has error ${quote(error)}, expected a text or an object as error`
}

/** Many servers send the JSON of an error as text/plain, which contradicts neither. */
const typeOfErrors = /json|^text\/plain/i

/** What the media type of an error object says that it is not. A missing type violates its own clause. */
function wrongType({ headers }: ObservedResponse): string | null {
  const type = headers['content-type']?.trim()
  return !type || typeOfErrors.test(type)
    ? null
    : `is JSON with the content-type ${quote(type)}, expected application/json`
}

const maxDepth = 8

/** Whether a value is a text or has one, however deep. */
function hasText(value: unknown, fits = (text: string) => text.trim() !== '', depth = 0): boolean {
  if (typeof value === 'string') return fits(value)
  if (typeof value !== 'object' || value === null || depth > maxDepth) return false
  return Object.values(value).some(member => hasText(member, fits, depth + 1))
}

function hasCustomMessage(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null || depth > maxDepth) return false
  return Object.entries(value).some(
    ([name, member]) => (name === 'customMessage' && hasText(member)) || hasCustomMessage(member, depth + 1),
  )
}

/**
 * The missing part of a standard error object; null if it is valid. Only a message is required, since the layout is
 * open.
 */
function missingFromError({ error }: Body): string | null {
  const inside = toObject(error)
  const said = typeof error === 'string' ? error : (inside?.message ?? inside?.customMessage)
  return typeof said === 'string' && said !== '' ? null : `error ${quote(error)}, which has no message`
}

/** The missing part of a detailed error object. Its additions are optional, but must have the observed form. */
function missingFromDetailedError(body: Body): string | null {
  const { details, issues } = body
  const isDetails = details === undefined || details === null || typeof details === 'string' || toObject(details)
  if (!isDetails) return `details ${quote(details)}, which is neither an object nor a text`
  const isIssues = issues === undefined || issues === null || (Array.isArray(issues) && issues.every(toObject))
  if (!isIssues) return `issues ${quote(issues)}, which is not a list of objects`
  return missingFromError(body)
}

const offerIn = (response: ObservedResponse, { wallets }: Pick<Contract, 'wallets'>): Body =>
  requirementsIn({ headers: response.headers, body: bodyValue(response) }, wallets).all

/** The structured form of a 402, which a caller without credit can get instead of an error. */
const isOffer = (response: ObservedResponse, terms: Pick<Contract, 'wallets'>): boolean =>
  response.status === 402 && isPaymentOffer(offerIn(response, terms))

/** Whether a 402 is for a wallet, with instructions to top up, and not for the owner of a key. */
const isWalletError = (body: Body): boolean =>
  isPaymentOffer(body) || body.topUpInstructions !== undefined || body.code === 'PAYMENT_REQUIRED'

/** The code of an error, next to it or inside it. */
const codeOf = (body: Body): unknown => body.code ?? toObject(body.error)?.code
