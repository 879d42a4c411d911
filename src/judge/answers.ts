import type { Contract } from '../contract/contract.ts'
import { count } from '../lib/format.ts'
import { oneLine } from '../lib/visible.ts'
import type { LogFooter, RunInfo } from '../observation/log-lines.ts'
import type { FailureReason, Observation } from '../observation/observation.ts'
import { isOpenList, requestTraits } from '../observation/requests/request.ts'
import { is2xx, originOf, quotedError } from '../observation/response.ts'
import { usesOwnKey } from './audits/abuse/failure.ts'
import { addCount, eachBy, keep, type MergeRules, mergeFields, sum, sumCounts } from './merge.ts'

/** Where the responses of a run came from, as plain data: the service, or something in front of it. */
export type Answers = {
  /** Responses that the service gives to an authorized caller. */
  readonly service: number
  /** The other responses by status: redirects, unknown paths, pages, rejected keys. */
  readonly others: ReadonlyMap<number, number>
  /** How many of the others were HTML pages with a 2xx status. */
  readonly pages: number
  /** How many of the others were about the path of the limits, with which a run begins, and that path. */
  readonly beginnings: number
  readonly beginsAt: string
  /** Requests without any response, by reason. */
  readonly failures: ReadonlyMap<FailureReason, number>
  /** The earliest of the others, and the earliest failure; null: there was none. */
  readonly firstOther: {
    readonly id: number
    readonly error: string
    readonly location: string | null
    /** Whether the request was one of a wallet. */
    readonly isOfWallet: boolean
  } | null
  readonly firstFailure: { readonly id: number; readonly detail: string } | null
}

type MutableAnswers = { -readonly [Name in keyof Omit<Answers, 'others' | 'failures'>]: Answers[Name] } & {
  readonly others: Map<number, number>
  readonly failures: Map<FailureReason, number>
}

export type AnswerLog = {
  readonly add: (observation: Observation) => void
  readonly answers: () => Answers
  readonly merge: (answers: Answers) => void
}

/** The longest part of an address that a sentence quotes. */
const maxLocation = 120

/** Finds out whether the service ever answered. After its first response, all others are ignored. */
export function createAnswerLog(contract: Contract): AnswerLog {
  const answers: MutableAnswers = {
    service: 0,
    others: new Map(),
    pages: 0,
    beginnings: 0,
    beginsAt: contract.paths.rateLimits,
    failures: new Map(),
    firstOther: null,
    firstFailure: null,
  }
  return {
    add: observation => {
      if (answers.service > 0) return
      const { id, request, outcome, response, chain } = observation
      if (response === null) {
        if (outcome.kind !== 'failed') return
        addCount(answers.failures, outcome.reason)
        answers.firstFailure ??= { id, detail: outcome.detail }
        return
      }
      // A stream of the service that breaks off is a response of the service, too.
      const origin = originOf(observation, contract)
      if (origin === 'service') answers.service++
      if (origin !== 'elsewhere') return
      addCount(answers.others, response.status)
      if (response.status < 300) answers.pages++
      if (requestTraits(request).endpoint(request, contract).route === answers.beginsAt) answers.beginnings++
      const location = response.headers.location ?? null
      answers.firstOther ??= { id, error: quotedError(response), location, isOfWallet: chain !== undefined }
    },
    answers: () => ({ ...answers }),
    merge: more => void mergeFields(answers, more, rules),
  }
}

const earlier = <Item extends { readonly id: number }>(a: Item | null, b: Item | null): Item | null =>
  a === null || (b !== null && b.id < a.id) ? b : a

const rules: MergeRules<Answers, MutableAnswers> = {
  ...eachBy(sum, ['service', 'pages', 'beginnings']),
  beginsAt: keep,
  others: sumCounts,
  failures: sumCounts,
  firstOther: earlier,
  firstFailure: earlier,
}

/**
 * Why a run shows nothing about the service, in one or two sentences: it never answered, or never accepted a caller. null:
 * it did. All other results of such a run are symptoms.
 */
export function noServiceReason(
  answers: Answers,
  ended: LogFooter['ended'] | 'truncated',
  head: Pick<RunInfo, 'target' | 'inventedKeys' | 'suggestedTarget'>,
): string | null {
  if (ended === 'worker-lost' || answers.service > 0) return null
  const hint = suggestion(head)
  if (answers.others.size > 0) return `${otherText(answers, head, hint)}${hint}`
  const failure = failureText(answers, head.target)
  return failure === null ? null : `${failure}${hint}`
}

/** The similar address that seems to be meant, as a question; empty if there is none. */
export const suggestion = ({ suggestedTarget }: Pick<RunInfo, 'suggestedTarget'>): string =>
  suggestedTarget === undefined ? '' : ` Did you mean ${suggestedTarget}?`

/** What to do if every response has this status. */
const remedies: Readonly<Record<number, string>> = {
  403: 'Do the keys permit this, and does a firewall let this machine through?',
  404: 'Is the base path right?',
  405: 'Is the base path right?',
  410: 'Is the base path right?',
  502: 'The service, or a proxy in front of it, is down.',
  503: 'The service, or a proxy in front of it, is down.',
  504: 'The service, or a proxy in front of it, is down.',
}

const isNotFound = (status: number): boolean => status === 404 || status === 405 || status === 410

function otherText(
  { others, pages, beginnings, beginsAt, firstOther }: Answers,
  head: Pick<RunInfo, 'target' | 'inventedKeys'>,
  hint: string,
) {
  const { target, inventedKeys } = head
  const [first = 0, ...more] = [...others.keys()].sort((a, b) => a - b)
  const total = [...others.values()].reduce((sum, times) => sum + times, 0)
  const quoted = firstOther === null || firstOther.error === '' ? '' : ` ("${firstOther.error}")`
  if (first === 401 && more.length === 0 && firstOther?.isOfWallet)
    return `The target ${target} rejected every sign-in with 401${quoted}. Do the clocks agree, and is the domain right?`
  if (others.has(401) && inventedKeys)
    return `The target ${target} does not know the keys that Turnpike invented for it; set TURNPIKE_KEYS.`
  if (first === 401 && more.length === 0)
    return `The target ${target} rejected every key with 401. Are the keys for this target?`
  if (pages === total) return `Every response of ${target} is an HTML page. Is this the address of the API?`
  const statuses = more.length === 0 ? `${first}` : `${[first, ...more.slice(0, -1)].join(', ')} or ${more.at(-1)}`
  const got = `Every request got ${statuses}${quoted}, ${count(total)} in all.`
  const location = firstOther?.location ?? null
  if (first >= 300 && first < 400 && location !== null)
    return hint === '' ? `${got} The target redirects to ${oneLine(location).slice(0, maxLocation)}.` : got
  const remedy = remedies[first] ?? 'Is this the address of the API?'
  // A run begins with this list, and stops if no caller gets it.
  const isListless = isNotFound(first) && beginnings === total && hint === ''
  return `${got} ${remedy}${isListless ? ` If it is, the target lacks ${beginsAt}: "turnpike learn" writes a profile without it.` : ''}`
}

/** null: no connection failed. A request may still have timed out. */
function failureText({ failures, firstFailure }: Answers, target: string): string | null {
  const [reason] = [...failures].toSorted(([, a], [, b]) => b - a)[0] ?? []
  const { host, protocol } = URL.canParse(target) ? new URL(target) : { host: target, protocol: '' }
  const detail = firstFailure === null ? '' : oneLine(firstFailure.detail)
  switch (reason) {
    case 'connect-refused':
      return `Nothing listens at ${host}. Does the service run, and is the port right?`
    case 'connect-timeout':
      return `No connection to ${host} could be opened in time. Is the address right, and does a firewall let this machine through?`
    case 'name-not-resolved':
      return `The name ${host} could not be resolved. Is it spelled right?`
    case 'tls':
      return /SSL routines|EPROTO/.test(detail)
        ? `${host} does not speak TLS on this port.`
        : `TLS to ${host} failed (${detail}). If its certificate is private, name its authority in NODE_EXTRA_CA_CERTS.`
    case 'connection-lost':
    case 'connection-reused-closed':
    case 'protocol':
      return `${host} closed every connection without an HTTP response. Does it speak ${protocol === 'https:' ? 'HTTPS' : 'plain HTTP'} on this port?`
    default:
      return null
  }
}

/**
 * Tells whether a response only rejects a key that Turnpike invented, which is not a fault of the target. Once a request
 * with such a key has succeeded, the target knows them all.
 */
export function createInventedKeys(areInvented: boolean): (observation: Observation) => boolean {
  let areKnown = !areInvented
  return ({ request, response, chain }) => {
    if (areKnown || response === null || chain !== undefined) return false
    if (!usesOwnKey(request) && !isOpenList(request)) return false
    // A list may be open to all, so its success does not show that a key is known.
    areKnown = is2xx(response.status) && !isOpenList(request)
    return response.status === 401
  }
}
