import { quote } from '../../lib/format.ts'
import { toObject } from '../../lib/json.ts'
import { isAbuseBlock, isConcurrencyRejection, isFromGateway, jsonObject } from '../../observation/response.ts'
import type { Check } from './check.ts'

const wholeNumber = /^\d+$/
const rpcLimitHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']

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

/** Checks the bodies of responses without a success status. */
export const checkErrors: Check<'errors'> = ({ response, request, id }, contract, reporter) => {
  if (response === null || response.status < 400 || isFromGateway(response, contract)) return
  if (response.body.kind === 'undecodable') return
  const body = jsonObject(response)
  const error = body?.error
  const isErrorObject = (typeof error === 'string' && error !== '') || toObject(error) !== null
  if (body !== null && (isErrorObject || (response.status === 402 && isPaymentRequirements(body)))) {
    reporter.pass('error.object')
    judgeLayout(body)
  } else {
    const got = body === null ? 'is no JSON object' : `has error ${quote(error)}`
    reporter.fail('error.object', `the body of a ${response.status} ${got}, expected a text or an object as error`, [
      id,
    ])
  }

  if (
    request.kind !== 'rpc' ||
    response.status !== 429 ||
    isAbuseBlock(response, contract) ||
    isConcurrencyRejection(response, contract)
  )
    return
  const missing = rpcLimitHeaders.filter(name => !wholeNumber.test(response.headers[name] ?? ''))
  // The document does not define the position of the message in the body.
  const message = body?.customMessage ?? toObject(error)?.customMessage
  if (typeof message !== 'string' || message === '') missing.unshift('customMessage')
  if (missing.length === 0) reporter.pass('limit.rpc-429')
  else
    reporter.fail(
      'limit.rpc-429',
      `a 429 of the RPC proxy lacks ${missing.join(', ')}, expected a message and whole numbers`,
      [id],
    )

  /** The presence of an error is checked before. */
  function judgeLayout(body: Readonly<Record<string, unknown>>) {
    const { status } = response ?? {}
    const clause = status === undefined ? undefined : byStatus[status]
    if (clause === undefined) return
    const lack =
      status === 402 && isPaymentRequirements(body)
        ? null
        : (clause === 'error.400.object' ? missingFromDetailedError : missingFromError)(body)
    if (lack === null) reporter.pass(clause)
    else reporter.fail(clause, `the body of a ${status} has ${lack}`, [id])
    const { insufficientBalanceCode: expected } = contract.errors
    if (
      status !== 402 ||
      expected === null ||
      isWalletError(body) ||
      response?.headers['payment-required'] !== undefined
    )
      return
    const code = codeOf(body)
    if (code === expected) reporter.pass('error.402.code')
    else reporter.fail('error.402.code', `the code of a 402 is ${quote(code)}, expected ${expected}`, [id])
  }
}

type Body = Readonly<Record<string, unknown>>

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
  if (!isIssues) return `issues ${quote(issues)}, which is no list of objects`
  return missingFromError(body)
}

/** The structured form of a 402, which a caller without credit can get instead of an error. */
const isPaymentRequirements = (body: Body | null): boolean =>
  body?.x402Version !== undefined && Array.isArray(body.accepts)

/** Whether a 402 is for a wallet, with instructions to top up, and not for the owner of a key. */
const isWalletError = (body: Body): boolean =>
  isPaymentRequirements(body) || body.topUpInstructions !== undefined || body.code === 'PAYMENT_REQUIRED'

/** The code of an error, next to it or inside it. */
const codeOf = (body: Body): unknown => body.code ?? toObject(body.error)?.code
