import type { ClausesOf } from '../contract/clauses.ts'
import type { Contract, Model } from '../contract/contract.ts'
import { quote } from '../lib/format.ts'
import { toObject } from '../lib/json.ts'
import { memoizeLast } from '../lib/memoize-last.ts'
import type { Answer, Observation } from '../observation/observation.ts'
import { is2xx, isFromGateway } from '../observation/response.ts'
import { type Check, type Expect, expecting } from './check.ts'

type Clause = ClausesOf<'occasional-headers'>

/** What a header must be where it is sent at all. */
type Rule = { readonly clause: Clause; readonly fits: (value: string) => boolean; readonly expected: string }

/** The headers that depend on more than who asked for what: they are judged where they are, and a few where they are not. */
export const checkOccasionalHeaders: Check<'occasional-headers'> = (observation, contract, say) => {
  const { answer, asked, seq } = observation
  if (answer === null || isFromGateway(answer, contract)) return
  const { headers, status } = answer
  const known = knowledgeOf(contract)
  const expect = expecting<Clause>(say, seq)

  for (const name in headers) {
    const rule = known.rules.get(name)
    const value = headers[name]
    if (rule === undefined || value === undefined) continue
    if (rule.fits(value)) say.kept(rule.clause)
    else say.broken(rule.clause, `${name} is ${quote(value)} on a ${status}, expected ${rule.expected}`, [seq])
  }
  checkDeprecation(observation, answer, known, expect)
  checkPaymentRequired(answer, expect)
  const echoed = headers[known.requestTimestamp]
  if (echoed !== undefined) {
    const sent = asked.kind === 'resource' ? asked.timestampMs : null
    expect(
      'header.request-timestamp',
      echoed === String(sent),
      () => `${known.requestTimestamp} is ${quote(echoed)}, expected ${sent ?? 'none, since none was sent'}`,
    )
  }
  if (asked.kind !== 'chat' || !is2xx(status)) return

  const used = headers[known.modelId]
  if (used && known.models.has(asked.model)) {
    // Options behind the model's name may be repeated with it.
    const isAsked = used === asked.model || used.startsWith(`${asked.model}:`)
    expect(
      'header.model-id.asked',
      isAsked,
      () => `${known.modelId} is ${quote(used)} on a ${status}, expected ${quote(asked.model)}`,
    )
  }
  if (contract.billing.balanceRemaining === 'anyone') return
  const remaining = headers['x-balance-remaining']
  expect(
    'header.balance-remaining',
    remaining === undefined,
    () => `x-balance-remaining is ${quote(remaining)} for an API key, expected it for wallets alone`,
  )
}

function checkDeprecation(
  { asked }: Observation,
  { headers, status }: Answer,
  { deprecationWarning, deprecationDate, models }: Knowledge,
  expect: Expect<Clause>,
): void {
  const warning = headers[deprecationWarning]
  const date = headers[deprecationDate]
  const isWarned = warning !== undefined || date !== undefined
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
  if (asked.kind !== 'chat' || !is2xx(status)) return
  const lifecycle = models.get(asked.model)?.lifecycle
  if (lifecycle === 'deprecated')
    expect(
      'header.deprecation.present',
      isWarned,
      () => `an answer of ${asked.model}, which is deprecated, has no ${deprecationWarning}, expected a warning`,
    )
  if (lifecycle === 'current')
    expect(
      'header.deprecation.absent',
      !isWarned,
      () => `an answer of ${asked.model}, which is not deprecated, warns of its retirement, expected no warning`,
    )
}

function checkPaymentRequired({ headers, status }: Answer, expect: Expect<Clause>): void {
  const said = headers['payment-required']
  // Of a 402 without it, it is open whether it is one of the wallets; a success is not looked at without need.
  if (said === undefined && (status === 402 || status < 400)) return
  expect(
    'header.payment-required',
    said === undefined || (status === 402 && isEncodedJson(said)),
    () => `payment-required is ${quote(said)} on a ${status}, expected JSON in base64 on a 402 alone`,
  )
}

const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/
/** A value that is longer than observations keep was cut, and cannot be decoded. */
const longestWhole = 511

function isEncodedJson(value: string): boolean {
  if (!base64.test(value)) return false
  if (value.length > longestWhole) return true
  try {
    const decoded: unknown = JSON.parse(Buffer.from(value, 'base64').toString('utf8'))
    return toObject(decoded) !== null || Array.isArray(decoded)
  } catch {
    return false
  }
}

const day = String.raw`\d{4}(-?)(0[1-9]|1[0-2])\1(0[1-9]|[12]\d|3[01])`
const time = String.raw`T([01]\d|2[0-4])(:?[0-5]\d(:?[0-5]\d|:?60)?)?([.,]\d+)?(Z|[+-]\d{2}(:?\d{2})?)?`
const isoInstant = new RegExp(`^${day}${time}$`)
/** A date may have a time behind it. */
const isoDate = new RegExp(`^${day}(${time})?$`)
const wholeNumber = /^\d+$/

type Knowledge = {
  readonly rules: ReadonlyMap<string, Rule>
  readonly models: ReadonlyMap<string, Model>
  readonly modelId: string
  readonly deprecationWarning: string
  readonly deprecationDate: string
  readonly requestTimestamp: string
}

const knowledgeOf = memoizeLast(
  ({ headerPrefix: prefix, models }: Contract): Knowledge => ({
    rules: rulesOf(prefix),
    models: new Map(models.map(model => [model.id, model])),
    modelId: `${prefix}model-id`,
    deprecationWarning: `${prefix}model-deprecation-warning`,
    deprecationDate: `${prefix}model-deprecation-date`,
    requestTimestamp: `${prefix}request-timestamp-ms`,
  }),
)

function rulesOf(prefix: string): ReadonlyMap<string, Rule> {
  const boolean: Rule = {
    clause: 'header.booleans',
    fits: value => value === 'true' || value === 'false',
    expected: 'true or false',
  }
  const text = (clause: Clause): Rule => ({ clause, fits: value => value !== '', expected: 'a text' })
  return new Map<string, Rule>([
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
