import { createHash } from 'node:crypto'
import type { Contract } from '../contract/contract.ts'
import type { Account } from './account.ts'
import type { Behavior } from './behavior.ts'
import { errorReply, type Reply, type ReplyBody, type RequestState } from './message.ts'
import { type CachedReply, replayCache } from './rpc/replays.ts'

export type StoreReply = (reply: Omit<CachedReply, 'fingerprint' | 'expiresMs'>) => void

/** What a request with a key gets. */
type KeyedRequest = {
  /** Runs it, and stores the reply unless the request has no valid key. */
  readonly first: (store: StoreReply | undefined) => Reply | Promise<Reply>
  readonly again: (stored: CachedReply) => Reply
}

/** Replies to requests by their idempotency keys. `place`: what belongs to the content of a request beside its body. */
export function keyedReplies({
  contract: { idempotency },
  behavior,
}: {
  readonly contract: Contract
  readonly behavior: Behavior
}): (state: RequestState, account: Account, place: string, request: KeyedRequest) => Reply | Promise<Reply> {
  const replays = replayCache()
  /** Keys whose first request is at an upstream. */
  const pending = new Map<string, { readonly fingerprint: string; readonly ended: Promise<void> }>()
  const [conflict = 400] = idempotency.conflict
  const [inProgress = null] = idempotency.inProgress
  const wait = (state: RequestState) =>
    inProgress === null ? null : errorReply(state, inProgress, 'A request with this Idempotency-Key is in progress')
  return respond

  function respond(
    state: RequestState,
    account: Account,
    place: string,
    request: KeyedRequest,
  ): Reply | Promise<Reply> {
    const key = state.request.headers['idempotency-key']
    const fate = key === undefined ? 'ignored' : behavior.keyFate(key)
    if (fate === 'ignored') return request.first(undefined)
    if (fate === 'rejected') return errorReply(state, 400, `Idempotency-Key must match ${idempotency.keyPattern}`)
    const cacheKey = `${behavior.replayScope(account, state)}/${behavior.cachedKey(key ?? '')}`
    const fingerprint = createHash('sha256')
      .update(`${place}\n`)
      .update(behavior.comparedBody(String(state.request.body)))
      .digest('base64')
    const first = pending.get(cacheKey)
    if (first !== undefined && first.fingerprint === fingerprint)
      return wait(state) ?? first.ended.then(() => respond(state, account, place, request))
    const stored = replays.find(cacheKey, state.arrivedMs)
    const lookup = behavior.lookUpReply(stored, fingerprint)
    if (first !== undefined || lookup.kind === 'conflict')
      return errorReply(state, conflict, 'Idempotency-Key was used with a different body')
    if (lookup.kind === 'replay') {
      const early = lookup.reply.readyMs > state.arrivedMs ? wait(state) : null
      const again = (stored: CachedReply) =>
        stored.status === undefined ? request.again(behavior.replayed(stored)) : replayWhole(state, stored)
      return early ?? again(lookup.reply)
    }
    const store: StoreReply = stored =>
      replays.store(cacheKey, { ...stored, fingerprint, expiresMs: state.arrivedMs + behavior.replayTtlMs })
    const reply = request.first(store)
    if (reply instanceof Promise) {
      const clear = () => void pending.delete(cacheKey)
      pending.set(cacheKey, { fingerprint, ended: reply.then(clear, clear) })
    } else if (idempotency.errors === 'kept' && reply.status >= 500) storeAny(reply, state, '0', store)
    return reply
  }
}

/** The reply to a request that is not RPC, with its idempotency key. */
export const storeSuccess = (reply: Reply, state: RequestState, costUsd: string, store?: StoreReply): Reply => {
  if (reply.status === 200) storeAny(reply, state, costUsd, store)
  return reply
}

function storeAny(reply: Reply, { arrivedMs }: RequestState, costUsd: string, store?: StoreReply): void {
  const { headers, status } = reply
  const whole = wholeOf(reply)
  if (whole === null) return
  store?.({
    text: whole.text,
    ...(status !== 200 && { status }),
    credits: 0,
    costUsd,
    requestId: '',
    readyMs: arrivedMs + whole.afterMs,
    headers: { ...headers },
  })
}

/** The text of a reply, and when the last of it is sent; null: it is not known yet. */
function wholeOf({ body, afterMs }: Reply): { readonly text: string; readonly afterMs: number } | null {
  if (body.kind === 'whole') return { text: body.text, afterMs }
  if (body.kind !== 'stream') return null
  return { text: body.chunks.map(({ text }) => text).join(''), afterMs: body.chunks.at(-1)?.afterMs ?? afterMs }
}

/** The same reply again, a stream in one piece. Other headers than its type are those of the new request where both have them. */
export function replayWhole(state: RequestState, { text, readyMs, headers = {}, status = 200 }: CachedReply): Reply {
  const type = headers['content-type']
  const afterMs = Math.max(0, readyMs - state.arrivedMs)
  const isStream = type?.startsWith('text/event-stream') === true
  const all = {
    ...headers,
    ...state.headers,
    ...(type !== undefined && { 'content-type': type }),
    'idempotent-replayed': 'true',
  }
  const body: ReplyBody = isStream ? { kind: 'stream', chunks: [{ afterMs, text }] } : { kind: 'whole', text }
  return { status, headers: Object.assign(state.headers, all), afterMs, body }
}
