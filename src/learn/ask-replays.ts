import { is2xx } from '../lib/numbers.ts'
import { creditsIn, isRpcAnswer, rpcCall, standardMethods } from './ask-rpc.ts'
import type { Answer } from './asker.ts'
import {
  because,
  type Conclusion,
  cite,
  difference,
  type Fact,
  type Question,
  rpcAsk,
  unknown,
  value,
} from './question.ts'

/** What a repeated idempotency key gets: with the same body, with another one, at the same time, and if it is invalid. */
export const replays: Question = {
  name: 'replays',
  calls: 7,
  applies: ({ rpc: use }) => use !== null && use.path !== '',
  answer: async ({ rpc: use }, { ask, replies }) => {
    if (use === null) return { findings: [] }
    // The caller may have used keys of an earlier attempt.
    const name = `turnpike-learn-${replies()[0]?.wallMs ?? 0}`
    const send = (key: string, id: number) =>
      ask({
        ...rpcAsk(use, rpcCall(standardMethods[use.family], id), use.worstPico),
        headers: { 'idempotency-key': key },
      })
    const original = await send(name, 1)
    if (!is2xx(original.status) || !isRpcAnswer(original.body))
      return { findings: [unknown('idempotency', because(original))] }
    const repeated = await send(name, 1)
    const conflict = await send(name, 2)
    const racing = await Promise.all([send(`${name}-race`, 1), send(`${name}-race`, 1)])
    const dotted = await send(`${name}.1`, 1)
    const again = is2xx(dotted.status) ? await send(`${name}.1`, 1) : null
    return conclude({ original, repeated, conflict, racing, dotted, again })
  },
}

const isReplay = ({ headers }: Answer): boolean => headers['idempotent-replayed']?.trim().toLowerCase() === 'true'

type Replies = {
  readonly original: Answer
  readonly repeated: Answer
  readonly conflict: Answer
  readonly racing: readonly Answer[]
  readonly dotted: Answer
  readonly again: Answer | null
}

function conclude({ original, repeated, conflict, racing, dotted, again }: Replies): Conclusion {
  const findings: Fact[] = [unknown('idempotency.ttlMs', 'would take as long as the document promises, 24 hours')]
  if (isReplay(original))
    findings.push(difference('rpc.replay.header', 'a first request is marked as a replay', original, false))
  if (!is2xx(repeated.status)) findings.push(unknown('idempotency', because(repeated)))
  else if (!isReplay(repeated)) {
    const isSame = original.bytes.equals(repeated.bytes)
    const text = 'a repeated request has no Idempotent-Replayed: true'
    findings.push({
      kind: 'missing',
      clauses: ['rpc.replay.*'],
      text: `replays: ${text}${isSame ? ', although the body is the same' : ''}`,
      evidence: cite(repeated),
    })
    return { findings }
  } else if (!original.bytes.equals(repeated.bytes))
    findings.push(difference('rpc.replay.body', 'a replay differs from the first response', repeated, false))
  if (is2xx(conflict.status))
    findings.push(difference('rpc.replay.conflict', 'a used key with another body gets a 200', conflict))
  else if (conflict.status !== null && conflict.status !== 400 && conflict.status < 500 && conflict.status !== 429)
    findings.push(difference('rpc.replay.conflict', `a used key with another body gets a ${conflict.status}`, conflict))
  return { findings: [...findings, race(racing), badKey(dotted, again)] }
}

function race(replies: readonly Answer[]): Fact {
  const path = ['idempotency', 'concurrent'] as const
  const charged = replies.filter(reply => is2xx(reply.status) && !isReplay(reply) && creditsIn(reply).credits !== 0)
  const evidence = replies.map(cite).join('; ')
  if (charged.length > 1)
    return value(path, 'best-effort', evidence, 'both of two concurrent requests were answered as the first')
  return unknown(path.join('.'), `${evidence}: one charge in a single race, which proves no promise`)
}

/** A key with a dot, which the documented pattern excludes. */
function badKey(dotted: Answer, again: Answer | null): Fact {
  const path = ['idempotency', 'badKey'] as const
  if (dotted.status !== null && dotted.status >= 400 && dotted.status < 500 && dotted.status !== 429)
    return value(path, 'rejected', dotted, 'a key with a dot')
  if (again === null || !is2xx(again.status)) return unknown(path.join('.'), because(again ?? dotted))
  return isReplay(again)
    ? difference('rpc.replay.bad-key', 'a key with a dot works like a valid one', again)
    : value(path, 'ignored', again, 'a key with a dot has no effect')
}
