import { is2xx } from '../lib/numbers.ts'
import { limitedAsk, sharedLimit } from './ask-limits.ts'
import { isLimitReached } from './ask-rpc.ts'
import { type Answer, type Ask, endMs, isRefused, sentMs, unstatedWaitsMs } from './asker.ts'
import { cite, type Fact, isService, type Question, type QuestionAsker, unknown, value } from './question.ts'
import { hasOtherStatus, recoversTwice } from './rest-of-limit.ts'

/** A larger amount is not counted. */
const maxAmount = 12
/** Of the windows that can be told, two of the longest: then nothing counts that came before, whatever the algorithm. */
const quietMs = 121_000
const lengthsMs = [5_000, 10_000, 15_000, 30_000, 60_000] as const
const afterMs = 200
/** A window may begin at a whole second. */
const beforeMs = (lengthMs: number) => Math.min(0.97 * lengthMs, lengthMs - 1_100)

type Count = { readonly accepted: readonly Answer[]; readonly refused: Answer | null }
type Counted = { readonly amount: number; readonly windowMs: number; readonly algorithm: string | null }
type Measured = { readonly counted: Counted; readonly why: string; readonly reply: Answer }

/**
 * A limit that responses do not state, if it refuses one of a few requests at once: how many are accepted at once, and when
 * how many of them come back. What fits to several lengths or algorithms stays unknown.
 */
export const unstatedLimit: Question = {
  name: 'a limit that is not stated',
  calls: Number.POSITIVE_INFINITY,
  applies: known => !isService(known) && known.contract.limits.dialect === null && known.limitClauses.length === 0,
  answer: async (known, asker) => {
    const open = (why = '') => unknown('limits.dialect', `no response has a header about limits${why}`)
    const request = limitedAsk(known)
    if (request === null) return { findings: [open(), ...otherStatus(asker.replies())] }
    const send = (ms: number) => asker.ask({ ...request, isBeyondLimit: true, isCounting: true, afterMs: ms })
    const found =
      asker.replies().some(isLimitReached) || (await countFrom(await send(0), maxAmount, send)).refused !== null
    const [other] = otherStatus(asker.replies())
    if (!found && other !== undefined) {
      if (asker.isBrief) await untilServed(ms => asker.ask({ ...request, afterMs: ms }), asker.replies())
      return { findings: [open(), other] }
    }
    if (!found) return { findings: [open(`, and ${maxAmount + 1} requests in a row are accepted`)] }
    if (asker.isBrief) {
      // Whether it recovers soon tells what a first run may send.
      for (let call = 0; call <= maxAmount && !recoversTwice(asker.replies()); call++)
        if (!is2xx((await asker.ask(request)).status)) break
      return {
        findings: [open(), unknown('limits.further', 'would take minutes')],
        known: { leftOut: ['a limit that no response states'] },
      }
    }
    const measured = await measure(send, async () => {
      const as: Partial<Ask> = { as: 'other', isBeyondLimit: true, isCounting: true }
      return asker.hasOtherCaller ? asker.ask({ ...request, ...as }) : null
    })
    if (typeof measured === 'string') return { findings: [open(), unknown('limits.further', measured)] }
    const { counted, why, reply, other: another } = measured
    const { amount, windowMs, algorithm } = counted
    const limit = { counts: 'requests', amount, windowMs, ...(algorithm !== null && { algorithm }) }
    const isShared = another !== null && isRefused(another)
    return {
      findings: [
        value(['limits', 'dialect'], 'none', 'no response has a header about limits'),
        value(['limits', 'tokenHeaders'], false, 'no response states tokens'),
        value(['limits', 'further', 'requests'], limit, reply, `likely, since ${why}`),
        ...noWait(asker.replies()),
        ...(isShared ? [sharedLimit(another)] : []),
      ],
      known: { limitClauses: ['limit.requests.enforced', 'limit.requests.not-early'], sharesLimit: isShared },
    }
  },
}

/** A call that was accepted before or after, refused with a status that a limit may have. */
function otherStatus(replies: readonly Answer[]): readonly Fact[] {
  const refused = replies.find(reply => hasOtherStatus(reply, replies))
  if (refused === undefined) return []
  const why = `a limit refused it, or it failed; if a limit did, write limits: { status: ${refused.status} }`
  return [unknown('limits.status', `${cite(refused)}: ${why}`)]
}

function noWait(replies: readonly Answer[]): readonly Fact[] {
  const refused = replies.find(isRefused)
  if (refused === undefined || Object.hasOwn(refused.headers, 'retry-after')) return []
  return [unknown('limits.retryAfter', `${cite(refused)}: it states no wait in Retry-After`)]
}

async function measure(
  send: (afterMs: number) => ReturnType<QuestionAsker['ask']>,
  askOther: () => Promise<Answer | null>,
): Promise<(Measured & { readonly other: Answer | null }) | string> {
  const first = await send(quietMs)
  if (!is2xx(first.status)) return `after ${quietMs / 1_000} s without requests: ${cite(first)}`
  const one = await countFrom(first, maxAmount, send)
  if (one.refused === null) return `more than ${maxAmount} requests are accepted at once`
  const other = await askOther()
  const amount = one.accepted.length
  const startMs = sentMs(first)
  const takenMs = sentMs(one.accepted.at(-1) ?? first) - startMs
  const served = await waitUntilServed(startMs, endMs(one.refused), send)
  if (typeof served === 'string') return served
  const two = await countFrom(served.reply, amount, send)
  if (two.refused === null) return `first ${amount} and then more requests are accepted at once`
  const back = two.accepted.length
  if (back < amount) {
    const elapsedMs = sentMs(served.reply) - startMs
    const leastMs = Math.max((elapsedMs * amount) / (back + 1), served.refusedMs * amount)
    const fitting = lengthsMs.filter(each => each > leastMs && each <= (elapsedMs * amount) / back)
    const [windowMs] = fitting
    if (fitting.length !== 1 || windowMs === undefined || (takenMs * amount) / windowMs > 0.9)
      return `${back} of ${amount} requests are accepted after ${seconds(elapsedMs)} s, which fits to no usual bucket`
    const why = `${back} of ${amount} requests are accepted after ${seconds(elapsedMs)} s, as by a bucket or a sliding counter`
    return { counted: { amount, windowMs, algorithm: null }, why, reply: two.refused, other }
  }
  const windowMs = lengthsMs.find(each => served.atMs === each + afterMs)
  const none = `all ${amount} requests are accepted again after ${seconds(served.atMs)} s, which is no usual window`
  if (windowMs === undefined || takenMs > windowMs / 2) return none
  const againMs = sentMs(served.reply)
  const inside = await send(againMs + beforeMs(windowMs) - endMs(two.refused))
  const after = await send(againMs + windowMs + afterMs - endMs(inside))
  if (!isRefused(inside) || !is2xx(after.status)) return none
  const why = `all ${amount} requests are accepted again after ${windowMs / 1_000} s; logs and all windows are judged as this one`
  return { counted: { amount, windowMs, algorithm: 'aligned-window' }, why, reply: after, other }
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

/** After the shorter waits, a first run has this much time left for one more. */
const lastWaitMs = 6_500

/** Asks a target that may have refused the last request again, until it accepts one or a first run has no more time to wait. */
async function untilServed(send: (afterMs: number) => Promise<Answer>, replies: readonly Answer[]): Promise<void> {
  const last = replies.at(-1)
  if (last === undefined || !hasOtherStatus(last, replies)) return
  for (const ms of [...unstatedWaitsMs.slice(0, 2), lastWaitMs]) if (is2xx((await send(ms)).status)) return
}

/** Counts on after an accepted request, until one is refused. */
async function countFrom(first: Answer, most: number, send: (afterMs: number) => Promise<Answer>): Promise<Count> {
  const accepted = [first]
  while (accepted.length <= most) {
    const reply = await send(0)
    if (isRefused(reply)) return { accepted, refused: reply }
    if (!is2xx(reply.status)) break
    accepted.push(reply)
  }
  return { accepted, refused: null }
}

/** Asks about each usual length of a window: just before its end, and after it. */
async function waitUntilServed(startMs: number, fromMs: number, send: (afterMs: number) => Promise<Answer>) {
  let [nowMs, refusedMs] = [fromMs, 0]
  for (const atMs of lengthsMs.flatMap(each => [beforeMs(each), each + afterMs])) {
    if (startMs + atMs < nowMs) continue
    const reply = await send(startMs + atMs - nowMs)
    if (is2xx(reply.status)) return { reply, atMs, refusedMs }
    if (!isRefused(reply)) return cite(reply)
    ;[nowMs, refusedMs] = [endMs(reply), atMs]
  }
  return 'no request is accepted within a minute of the refusal'
}
