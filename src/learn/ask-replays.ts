import { is2xx } from '../lib/numbers.ts'
import { isReplayed } from '../observation/response.ts'
import type { ReplayStep } from '../produce/arrivals/arrivals.ts'
import { creditsIn, isRpcAnswer } from './ask-rpc.ts'
import type { Answer } from './asker.ts'
import { because, cite, type Fact, probeAsk, type Question, refusalOf, rpcCall, unknown, value } from './question.ts'

/** What a repeated idempotency key gets: with the same body, with another one, at the same time, and if it is invalid. */
export const replays: Question = {
  name: 'replays',
  calls: 7,
  applies: ({ rpc: use }) => use !== null && !use.isNode,
  answer: async ({ rpc: use }, { ask, replies }) => {
    if (use === null) return { findings: [] }
    const { worstPico } = use
    const send = (first: number, step: ReplayStep, concurrent = false) => {
      const terms = { concurrent, duplicates: 1, conflictRatio: 1, otherCallerRatio: 0, otherKeyRatio: 0 }
      const call = { kind: 'replay', of: rpcCall(use), ...terms, repeatAfterMs: null } as const
      return ask({ call, step, first, worstPico })
    }
    const first = replies().length + 1
    const original = await send(first, 'original')
    if (!is2xx(original.status) || !isRpcAnswer(original.body))
      return { findings: [unknown('idempotency', because(original))] }
    const repeated = await send(first, 'duplicate')
    await send(first, 'conflict')
    const race = replies().length + 1
    const racing = await Promise.all([send(race, 'original', true), send(race, 'duplicate', true)])
    const dotted = [await ask(probeAsk('key-with-a-dot', worstPico))]
    if (is2xx(dotted[0]?.status ?? null)) dotted.push(await ask(probeAsk('key-with-a-dot', worstPico)))

    const lifetime = unknown('idempotency.ttlMs', 'would take as long as the document promises, 24 hours')
    if (!is2xx(repeated.status)) return { findings: [lifetime, unknown('idempotency', because(repeated))] }
    if (!isReplay(repeated)) return { findings: [lifetime, missingReplays(original, repeated)] }
    return { findings: [lifetime, raceFact(racing), ...badKeyFacts(dotted)] }
  },
}

const isReplay = ({ observation }: Answer): boolean => isReplayed(observation?.response ?? null)

function missingReplays(original: Answer, repeated: Answer): Fact {
  const isSame = JSON.stringify(original.body) === JSON.stringify(repeated.body)
  return {
    kind: 'missing',
    clauses: ['rpc.replay.*'],
    text: `replays: a repeated request has no Idempotent-Replayed: true${isSame ? ', although the body is the same' : ''}`,
    evidence: cite(repeated),
  }
}

function raceFact(replies: readonly Answer[]): Fact {
  const path = ['idempotency', 'concurrent'] as const
  const charged = replies.filter(reply => is2xx(reply.status) && !isReplay(reply) && creditsIn(reply).credits !== 0)
  const evidence = replies.map(cite).join('; ')
  if (charged.length > 1)
    return value(path, 'best-effort', evidence, 'both of two concurrent requests were answered as the first')
  return unknown(path.join('.'), `${evidence}: one charge in a single race, which proves no promise`)
}

/** What a key with a dot gets, which the documented pattern excludes. If it works like a valid key, no value says so. */
function badKeyFacts(replies: readonly Answer[]): readonly Fact[] {
  const path = ['idempotency', 'badKey'] as const
  const [last] = replies.slice(-1)
  if (last === undefined) return []
  if (replies.length === 1 && refusalOf(last) !== null) return [value(path, 'rejected', last, 'a key with a dot')]
  if (!is2xx(last.status)) return [unknown(path.join('.'), because(last))]
  return replies.some(isReplay) ? [] : [value(path, 'ignored', last, 'a key with a dot has no effect')]
}
