import { unknownMember } from '../contract/chat-options.ts'
import { documentedContract } from '../contract/documented.ts'
import { balanceRemainingHeader, moneyHeaderNames } from '../contract/headers.ts'
import { probeNames, probeOf } from '../contract/probes.ts'
import { signInAt } from '../contract/wallets.ts'
import { toObject } from '../lib/json.ts'
import { is2xx, numberIn } from '../lib/numbers.ts'
import { requirementsIn } from '../observation/payments.ts'
import { authenticatedResponse } from '../observation/response.ts'
import { chatAsk, chatPico } from './ask-chat.ts'
import type { Answer, Ask } from './asker.ts'
import { brokenClauses } from './judge-answers.ts'
import {
  because,
  cite,
  type Fact,
  isAbsent,
  isService,
  type Known,
  probeAsk,
  type Question,
  refusalStatus,
  rpcCall,
  unknown,
  value,
} from './question.ts'

const { auth } = documentedContract

/** A request without a key that costs money, to the part of the service that there is. */
function anonymousAsk({ chat, rpc }: Known): Ask | null {
  if (chat !== null) return { ...chatAsk(chat.model), as: 'anonymous' }
  return rpc === null ? null : { call: rpcCall(rpc), worstPico: rpc.worstPico, as: 'anonymous' }
}

/** Requests without a key, with a wrong one, and with the key of an empty account. */
export const access: Question = {
  name: 'access',
  calls: 3,
  applies: ({ chat, rpc }) => chat !== null || rpc !== null,
  answer: async (known, { ask, hasZeroBalance }) => {
    if (!isService(known)) {
      const request = anonymousAsk(known)
      if (request === null) return { findings: [] }
      const anonymous = await ask(request)
      return { findings: needsKey(anonymous), unjudged: [anonymous] }
    }
    const { chat, rpc } = known
    const worstPico = chat === null ? (rpc?.worstPico ?? 0n) : chatPico(chat.model)
    const send = (name: string) => ask(probeAsk(chat === null ? `${name}-to-rpc` : name, worstPico))
    const findings = noKeyFacts(await send('no-key'))
    const wrong = await send('bad-key')
    if (refusalStatus(wrong) === null && !is2xx(wrong.status)) findings.push(unknown('auth.bearer', because(wrong)))
    const path = ['errors', 'insufficientBalanceCode'] as const
    findings.push(
      hasZeroBalance
        ? poorFact(path, await send('empty-account'))
        : unknown(path.join('.'), 'would need TURNPIKE_ZERO_BALANCE_KEY'),
    )
    return { findings }
  },
}

/**
 * The domain and the URI for which wallets sign in, as an offer to pay states them. None if the target has the same
 * name in public.
 */
export function signInFacts(replies: readonly Answer[], target: string): readonly Fact[] {
  for (const reply of replies) {
    const stated = requirementsIn({ headers: reply.headers, body: reply.body }, documentedContract.wallets).all
    const extension = toObject(toObject(stated.extensions)?.['sign-in-with-x'])
    const { domain, uri } = toObject(extension?.info) ?? extension ?? {}
    if (typeof domain !== 'string' || domain === '' || domain.length > maxDomain) continue
    const { origin } = new URL(target)
    const expected = signInAt({ domains: [domain], uri: null }, origin)
    if (expected.uri === origin) return []
    const own = typeof uri === 'string' && URL.canParse(uri) ? new URL(uri).origin : expected.uri
    const evidence = 'the domain of its challenge to sign in'
    return [
      value(['wallets', 'signIn', 'domains'], [domain], reply, evidence),
      ...(own === expected.uri || !/^https?:/.test(own)
        ? []
        : [value(['wallets', 'signIn', 'uri'], own, reply, 'the URI of that challenge')]),
    ]
  }
  return []
}

const maxDomain = 253

/** Where nothing is documented: whether requests need a key at all. */
function needsKey(answer: Answer): readonly Fact[] {
  if (answer.status === null) return []
  const isOpen = is2xx(answer.status)
  const evidence = `a request without credentials is ${isOpen ? 'answered' : 'refused'}`
  return [value(['auth', 'required'], !isOpen, answer, evidence)]
}

function noKeyFacts(reply: Answer): Fact[] {
  const path = ['auth', 'noKey'] as const
  const status = refusalStatus(reply)
  if (status !== null)
    return [value(path, auth.noKey.includes(status) ? auth.noKey : [status], reply, 'a request without credentials')]
  return is2xx(reply.status) ? [] : [unknown(path.join('.'), because(reply))]
}

function poorFact(path: readonly ['errors', 'insufficientBalanceCode'], reply: Answer): Fact {
  if (reply.status !== 402) return unknown(path.join('.'), because(reply))
  const { code, error } = toObject(reply.body) ?? {}
  const stated = [code, toObject(error)?.code].find(
    each => typeof each === 'string' && each !== '' && each.length <= maxCode,
  )
  return value(path, stated ?? null, reply, stated === undefined ? 'its body has no code' : 'the code of its body')
}

const maxCode = 100

/** Whether all errors have the usual layout. */
export const errorLayout: Question = {
  name: 'error layout',
  calls: 0,
  applies: isService,
  answer: async ({ contract }, { replies }) => {
    const errors = replies().filter(({ status }) => status !== null && status >= 400)
    if (errors.length === 0) return { findings: [] }
    const layout = 'error'
    const usual = { ...contract, errors: { ...contract.errors, layout } } as const
    const broken = brokenClauses(errors, usual).find(({ clause }) => clause.startsWith('error.'))
    const path = ['errors', 'layout'] as const
    return {
      findings: [
        broken === undefined
          ? value(path, layout, `all of ${errors.length} errors have a text as error, or as its message`)
          : unknown(path.join('.'), `${broken.text} (${broken.evidence})`),
      ],
    }
  },
}

/** Whether responses have balances, and the unit of their resets. */
export const commonHeaders: Question = {
  name: 'common headers',
  calls: 0,
  applies: isService,
  answer: async ({ contract }, { replies }) => {
    const own = replies().filter(
      reply => reply.observation !== null && authenticatedResponse(reply.observation) !== null && !isAbsent(reply),
    )
    return {
      findings: [
        ...balanceFacts(own, contract.headerPrefix),
        ...(contract.limits.dialect === null ? [resetFact(own)] : []),
      ],
    }
  },
}

function balanceFacts(own: readonly Answer[], prefix: string): readonly Fact[] {
  if (own.length === 0) return []
  const names = [moneyHeaderNames.usdBalance, moneyHeaderNames.diemBalance].map(name => `${prefix}${name}`)
  const absent = names.filter(name => !own.every(({ headers }) => name in headers))
  const text =
    absent.length === 0 ? 'both balances are in all responses' : `not all responses have ${absent.join(' and ')}`
  const isThere = value(['billing', 'balanceHeaders'], absent.length === 0, `${own.length} responses`, text)
  const remaining = own.find(({ headers }) => balanceRemainingHeader in headers)
  if (remaining === undefined) return [isThere]
  const evidence = 'a response to a key has X-Balance-Remaining'
  return [isThere, value(['billing', 'balanceRemaining'], 'anyone', remaining, evidence)]
}

function resetFact(own: readonly Answer[]): Fact {
  const path = ['limits', 'requestsReset'] as const
  const header = 'x-ratelimit-reset-requests'
  const stated = own.flatMap(reply => {
    const reset = numberIn(reply.headers[header])
    return reset === null ? [] : [{ reply, reset }]
  })
  const [first] = stated
  if (first === undefined) return unknown(path.join('.'), `no response has ${header}`)
  const units = new Set(
    stated.map(({ reset }) => (reset > 1e11 ? 'unix-milliseconds' : reset > 1e9 ? 'unix-seconds' : 'no Unix time')),
  )
  const [unit] = units
  const evidence = `${header} is ${first.reset}`
  return units.size > 1 || unit === 'no Unix time'
    ? unknown(path.join('.'), `${evidence}, and ${[...units].join(' and ')} in all responses`)
    : value(path, unit, first.reply, evidence)
}

/** Requests that a service may refuse: an unknown field, another media type, or a seed. */
export const strictness: Question = {
  name: 'strictness',
  calls: 2,
  applies: ({ chat: use }) => use !== null,
  answer: async (known, { ask }) => {
    const { chat: use } = known
    if (use === null) return { findings: [] }
    const extra = await ask(chatAsk(use.model, { body: { [unknownMember]: true } }))
    const path = ['chat', 'unknownMembers'] as const
    const members = is2xx(extra.status)
      ? value(path, 'tolerated', extra)
      : extra.status === 400 || extra.status === 422
        ? value(path, 'refused', extra, 'a request with an unknown field')
        : unknown(path.join('.'), because(extra))
    if (!isService(known)) {
      const seeded = await ask(chatAsk(use.model, { body: { temperature: 0, seed: 1 } }))
      return { findings: [members], known: { takesSeeds: is2xx(seeded.status) }, unjudged: [seeded] }
    }
    const typed = await ask(probeAsk('wrong-media-type', chatPico(use.model)))
    return { findings: [members, ...mediaTypeFacts(typed)] }
  },
}

export const tokenLimitProbes = probeNames.filter(name => probeOf(name).clause.startsWith('chat.token-limit.'))

/** Of a completion without a token limit, for a model that states no maximum. */
const unlimitedTokens = 4_096

/** Token limits that are none. What is not refused here, the profile does not promise. */
export const tokenLimitRules: Question = {
  name: 'token limits that are none',
  calls: tokenLimitProbes.length,
  applies: known => known.chat !== null && !isService(known),
  answer: async ({ chat: use }, { ask }) => {
    if (use === null) return { findings: [] }
    const worstPico = chatPico(use.model, use.model.maxCompletionTokens ?? unlimitedTokens)
    const findings: Fact[] = []
    const unjudged: Answer[] = []
    for (const probe of tokenLimitProbes) {
      const reply = await ask(probeAsk(probe, worstPico))
      if (reply.status === 400 || reply.status === 422) continue
      const text = `no 400 or 422 shows that ${probe} is refused`
      findings.push({ kind: 'difference', clause: probeOf(probe).clause, text, evidence: cite(reply), always: true })
      unjudged.push(reply)
    }
    return { findings, unjudged }
  },
}

function mediaTypeFacts(reply: Answer): readonly Fact[] {
  const status = refusalStatus(reply)
  if (status !== null) return [value(['chat', 'wrongMediaTypeStatus'], status, reply, 'a chat request of text/plain')]
  return is2xx(reply.status) ? [] : [unknown('chat.wrongMediaTypeStatus', because(reply))]
}
