import { quote } from '../lib/format.ts'
import { toObject } from '../lib/json.ts'

type Body = Readonly<Record<string, unknown>>

/** What a standard error object lacks; null where it is one. Its layout is open, but for words of some sort. */
export function lackOfStandard({ error }: Body): string | null {
  const inside = toObject(error)
  const said = typeof error === 'string' ? error : (inside?.message ?? inside?.customMessage)
  return typeof said === 'string' && said !== '' ? null : `error ${quote(error)}, which has no message`
}

/** As well of a detailed one: what it adds may be missing, and has the form that people have seen if it is not. */
export function lackOfDetailed(body: Body): string | null {
  const { details, issues } = body
  const isDetails = details === undefined || details === null || typeof details === 'string' || toObject(details)
  if (!isDetails) return `details ${quote(details)}, which is neither an object nor a text`
  const isIssues = issues === undefined || issues === null || (Array.isArray(issues) && issues.every(toObject))
  if (!isIssues) return `issues ${quote(issues)}, which is no list of objects`
  return lackOfStandard(body)
}

/** The structured form of a 402, which a caller without credit can get in place of an error. */
export const isPaymentOffer = (body: Body | null): boolean =>
  body?.x402Version !== undefined && Array.isArray(body.accepts)

/** Whether a 402 speaks to a wallet, which is told how to top up, and not to the owner of a key. */
export const isForWallet = (body: Body): boolean =>
  isPaymentOffer(body) || body.topUpInstructions !== undefined || body.code === 'PAYMENT_REQUIRED'

/** The code of an error, beside it or in it. */
export const codeOf = (body: Body): unknown => body.code ?? toObject(body.error)?.code
