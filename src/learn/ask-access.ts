import { documentedContract } from '../contract/documented.ts'
import { balanceRemainingHeader, moneyHeaderNames } from '../contract/headers.ts'
import { toObject } from '../lib/json.ts'
import { is2xx } from '../lib/numbers.ts'
import { chatAsk } from './ask-chat.ts'
import { rpcCall, standardMethods } from './ask-rpc.ts'
import type { Answer, Ask, Asker } from './asker.ts'
import { because, difference, type Fact, type Known, type Question, rpcAsk, unknown, value } from './question.ts'

const { auth } = documentedContract

/** A request that costs money, to the part of the service that there is. */
function paidAsk({ chat, rpc }: Known, more: Partial<Ask>): Ask | null {
  if (chat !== null) return chatAsk(chat, {}, more)
  return rpc === null ? null : { ...rpcAsk(rpc, rpcCall(standardMethods[rpc.family]), rpc.worstPico), ...more }
}

/** Requests without a key, with a wrong one, and with the key of an empty account. */
export const access: Question = {
  name: 'access',
  calls: 3,
  applies: ({ chat, rpc }) => chat !== null || rpc !== null,
  answer: async (known, asker) => {
    const send = async (as: NonNullable<Ask['as']>): Promise<Answer | null> => {
      const request = paidAsk(known, { as })
      return request === null ? null : await asker.ask(request)
    }
    const anonymous = await send('anonymous')
    if (known.prefix === null && known.limits.size === 0) return { findings: needsKey(anonymous) }
    const wrong = await send('bad-key')
    const findings = [noKey(anonymous), badKeyFinding(wrong), ...(await emptyAccount(asker, send))]
    return { findings: findings.filter(finding => finding !== null) }
  },
}

/** Where nothing is documented: whether requests need a key at all. */
function needsKey(answer: Answer | null): readonly Fact[] {
  if (answer === null || answer.status === null) return []
  const isOpen = is2xx(answer.status)
  return [
    value(
      ['auth', 'required'],
      !isOpen,
      answer,
      isOpen ? 'a request without credentials is answered' : 'a request without credentials is refused',
    ),
  ]
}

function noKey(reply: Answer | null): Fact | null {
  const path = ['auth', 'noKey'] as const
  if (reply === null) return null
  const { status } = reply
  if (status !== null && status >= 400 && status < 500 && status !== 429)
    return value(path, auth.noKey.includes(status) ? auth.noKey : [status], reply, 'a request without credentials')
  if (is2xx(status)) return difference('auth.missing', 'a request without credentials is answered', reply)
  return unknown(path.join('.'), because(reply))
}

function badKeyFinding(reply: Answer | null): Fact | null {
  if (reply === null || reply.status === 401) return null
  if (reply.status === null || reply.status === 429 || reply.status >= 500)
    return unknown('auth.bearer', because(reply))
  return difference('auth.bearer', `a request with a wrong key gets a ${reply.status}`, reply)
}

async function emptyAccount(
  asker: Asker,
  send: (as: 'zero-balance') => Promise<Answer | null>,
): Promise<readonly Fact[]> {
  const path = ['errors', 'insufficientBalanceCode'] as const
  if (!asker.hasZeroBalance) return [unknown(path.join('.'), 'would need TURNPIKE_ZERO_BALANCE_KEY')]
  const reply = await send('zero-balance')
  if (reply === null) return []
  if (reply.status !== 402)
    return reply.status !== null && reply.status < 400
      ? [difference('error.402', `an account without a balance gets a ${reply.status}`, reply)]
      : [unknown(path.join('.'), because(reply))]
  const { code, error } = toObject(reply.body) ?? {}
  const stated = [code, toObject(error)?.code].find(
    each => typeof each === 'string' && each !== '' && each.length <= maxCode,
  )
  return [value(path, stated ?? null, reply, stated === undefined ? 'its body has no code' : 'the code of its body')]
}

const maxCode = 100

/** How errors look, from all of them. */
export const errorLayout: Question = {
  name: 'error layout',
  calls: 0,
  applies: ({ prefix, limits }) => prefix !== null || limits.size > 0,
  answer: async (_, { replies }) => {
    // A 402 may state the required payment instead.
    const errors = replies().filter(({ status }) => status !== null && status >= 400 && status !== 402)
    const [first] = errors
    if (first === undefined) return { findings: [] }
    const layouts = new Set(errors.map(reply => layoutOf(reply) ?? 'no text'))
    const [layout] = layouts
    const findings: Fact[] = errors
      .filter(reply => layoutOf(reply) === null)
      .slice(0, 3)
      .map(reply => difference('error.object', 'an error has no object with a text', reply, false))
    const isUsual = errors.every(({ body }) => layoutOf({ body })?.endsWith(usualLayout))
    const evidence =
      layouts.size === 1
        ? `all of ${errors.length} errors have ${layout}`
        : `${errors.length} errors have ${layouts.size} layouts: ${[...layouts].slice(0, 3).join(' and ')}`
    return {
      findings: [
        ...findings,
        isUsual ? value(['errors', 'layout'], 'error', evidence) : unknown('errors.layout', evidence),
      ],
    }
  },
}

const usualLayout = 'as error'

/** Where the text of an error is; null if there is none. */
function layoutOf({ body }: Pick<Answer, 'body'>): string | null {
  const object = toObject(body)
  if (typeof object?.error === 'string') return `a text ${usualLayout}`
  if (typeof toObject(object?.error)?.message === 'string') return `an object with a message ${usualLayout}`
  const member = Object.entries(object ?? {}).find(([, text]) => typeof text === 'string' && text !== '')
  return member === undefined ? null : `a text as ${member[0].slice(0, 40)}`
}

/** A header whose absence from every response is a missing promise. */
const everywhere = [
  { name: 'content-type', clause: 'header.content-type', own: false },
  { name: 'date', clause: 'header.date', own: false },
  { name: 'cf-ray', clause: 'header.cf-ray', own: false },
  { name: 'version', clause: 'header.version', own: true },
] as const

const balances = [
  { name: moneyHeaderNames.usdBalance, clause: 'header.balance.usd' },
  { name: moneyHeaderNames.diemBalance, clause: 'header.balance.diem' },
] as const

/** The headers that all responses have in common. */
export const commonHeaders: Question = {
  name: 'common headers',
  calls: 0,
  applies: ({ prefix, limits }) => prefix !== null || limits.size > 0,
  answer: async ({ prefix, chat }, { replies }) => {
    const all = replies().filter(({ status }) => status !== null)
    const own = all.filter(({ as }) => as === 'caller')
    const findings: Fact[] = []
    for (const { name, clause, own: isOwn } of everywhere) {
      const header = isOwn ? `${prefix ?? 'x-'}${name}` : name
      findings.push(...absence(all, header, clause))
    }
    const absent = balances.filter(({ name }) => !own.every(({ headers }) => `${prefix}${name}` in headers))
    const [first] = own
    if (first !== undefined) {
      const text =
        absent.length === 0
          ? 'both balances are in all responses'
          : `not all responses have ${absent.map(({ name }) => name).join(' and ')}`
      findings.push(value(['billing', 'balanceHeaders'], absent.length === 0, `${own.length} responses`, text))
      const remaining = own.find(({ headers }) => balanceRemainingHeader in headers)
      if (remaining !== undefined)
        findings.push(
          value(['billing', 'balanceRemaining'], 'anyone', remaining, 'a response to a key has X-Balance-Remaining'),
        )
    }
    if (chat !== null && prefix !== null) {
      const { whole } = chat
      if (!(`${prefix}model-id` in whole.headers))
        findings.push(difference('header.model-id', `a completion has no ${prefix}model-id`, whole))
      if (!(`${prefix}model-name` in whole.headers))
        findings.push(difference('header.model-name', `a completion has no ${prefix}model-name`, whole))
    }
    return { findings: [...findings, ...resetFindings(own), ...requestLimitFindings(own)] }
  },
}

function absence(
  replies: readonly Answer[],
  header: string,
  clause: 'header.content-type' | 'header.date' | 'header.cf-ray' | 'header.version',
): readonly Fact[] {
  const without = replies.filter(({ headers }) => headers[header] === undefined)
  const [first] = without
  if (first === undefined) return []
  const isAlways = without.length === replies.length
  return [
    difference(
      clause,
      isAlways ? `no response has ${header}` : `${without.length} of ${replies.length} responses have no ${header}`,
      first,
      isAlways,
    ),
  ]
}

function resetFindings(replies: readonly Answer[]): readonly Fact[] {
  const path = ['limits', 'requestsReset'] as const
  const stated = replies.flatMap(reply => {
    const reset = Number(reply.headers['x-ratelimit-reset-requests'] ?? Number.NaN)
    return Number.isFinite(reset) ? [{ reply, reset }] : []
  })
  const [first] = stated
  if (first === undefined) return [unknown(path.join('.'), 'no response has x-ratelimit-reset-requests')]
  const units = new Set(
    stated.map(({ reset }) => (reset > 1e11 ? 'unix-milliseconds' : reset > 1e9 ? 'unix-seconds' : 'no Unix time')),
  )
  const [unit] = units
  const evidence = `x-ratelimit-reset-requests is ${first.reset}`
  if (units.size > 1) return [difference('limit.requests.reset', `resets have ${units.size} units`, first.reply, false)]
  if (unit === 'no Unix time')
    return [difference('limit.requests.reset', `${evidence}, which is no Unix time`, first.reply)]
  return [value(path, unit, first.reply, evidence)]
}

function requestLimitFindings(replies: readonly Answer[]): readonly Fact[] {
  const names = ['limit', 'remaining', 'reset'].map(name => `x-ratelimit-${name}-requests`)
  const without = replies.filter(({ headers }) => names.some(name => headers[name] === undefined))
  const [first] = without
  if (first === undefined) return []
  const isAlways = without.length === replies.length
  return [
    difference(
      'limit.requests.headers',
      `${without.length} of ${replies.length} responses lack a header of the request limit`,
      first,
      isAlways,
    ),
  ]
}
