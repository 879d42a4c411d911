import type { Contract } from '../contract/contract.ts'
import { UsageError } from '../lib/usage-error.ts'
import { parseDuration } from '../scenario/units.ts'
import { type ChatUpstream, chatUpstream } from '../service/upstream/chat-upstream.ts'
import { type RpcUpstream, rpcUpstream } from '../service/upstream/rpc-upstream.ts'
import type { Upstream } from '../service/upstream/upstream.ts'
import { listFlag, number, text, type Values } from './flags.ts'

type ServiceUpstreams = {
  /** null: simulated. */
  readonly chat: ChatUpstream | null
  readonly rpc: RpcUpstream | null
  /** What to tell the user, without keys. */
  readonly lines: readonly string[]
  readonly close: () => Promise<void>
}

const chatKey = 'TURNPIKE_CHAT_UPSTREAM_KEY'
const rpcKey = 'TURNPIKE_RPC_UPSTREAM_KEY'
const maxTimeoutMs = 3_600_000
/** They change or replace what the simulation says, and there is none. */
const simulationFlags = ['lie', 'concurrency']

/** The servers to which the reference service forwards, from the flags. Keys come from the environment. */
export async function serviceUpstreams(values: Values, contract: Contract): Promise<ServiceUpstreams> {
  const chatUrl = upstreamUrl(values, 'chat-upstream', chatKey)
  const rpcUrl = upstreamUrl(values, 'rpc-upstream', rpcKey)
  checkCombination(values, contract, { chatUrl, rpcUrl })
  const timeoutMs = timeoutOf(values)
  const modelOf = modelsOf(values, contract, chatUrl)
  const warn = warnings()
  const chatSecret = keyOf(chatKey)
  const rpcSecret = keyOf(rpcKey)
  for (const [flag, url, variable, secret] of [
    ['--chat-upstream', chatUrl, chatKey, chatSecret],
    ['--rpc-upstream', rpcUrl, rpcKey, rpcSecret],
  ] as const)
    if (secret === null && url?.includes('{key}'))
      throw new UsageError({ where: flag, got: 'an address with {key}', expected: `the key in ${variable}` })
  if (chatUrl === null && rpcUrl === null) return { chat: null, rpc: null, lines: [], close: async () => {} }
  // Most services need no HTTP client.
  const { createUpstream } = await import('../service/upstream/http-upstream.ts')
  const chat =
    chatUrl === null ? null : createUpstream({ name: 'chat', url: chatUrl, key: chatSecret, timeoutMs, warn })
  const rpc = rpcUrl === null ? null : createUpstream({ name: 'rpc', url: rpcUrl, key: rpcSecret, timeoutMs, warn })
  return {
    chat: chat && chatUpstream(chat, { contract, modelOf, hideKey: hider(chatSecret) }),
    rpc: rpc && rpcUpstream(rpc, hider(rpcSecret)),
    lines: [
      ...(chatUrl === null ? [] : [`Chat is forwarded to ${originOf(chatUrl)}.`]),
      ...(rpcUrl === null ? [] : [`RPC is forwarded to ${originOf(rpcUrl)}.`]),
    ],
    close: async () => {
      await Promise.all([chat, rpc].map((upstream: Upstream | null) => upstream?.close()))
    },
  }
}

/** The URL of a flag without a slash at its end; null if the flag is not given. */
function upstreamUrl(values: Values, name: string, key: string): string | null {
  const written = text(values, name)
  if (written === null) return null
  const bad = (got: string, more: { readonly hint?: string } = {}) =>
    new UsageError({
      ...more,
      where: `--${name}`,
      got,
      expected: 'an http or https address such as http://127.0.0.1:8000/v1',
    })
  const url = URL.canParse(written) ? new URL(written) : null
  if (url === null || !/^https?:$/.test(url.protocol)) throw bad(JSON.stringify(written))
  if (url.username !== '' || url.password !== '')
    throw bad('an address with a user name or a password', { hint: `set ${key} for the secret` })
  if (name === 'chat-upstream' && url.search !== '') throw bad('an address with a ?')
  return written.replace(/\/+$/, '')
}

/** Hides a key in what an upstream says about it. */
const hider =
  (secret: string | null) =>
  (message: string): string =>
    secret === null ? message : message.replaceAll(secret, '***')

/** The part of a URL without secrets. */
const originOf = (url: string): string => new URL(url).origin

function keyOf(variable: string): string | null {
  const key = process.env[variable]?.trim()
  if (key === undefined || key === '') return null
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw new UsageError({
    where: variable,
    got: 'a key with a space or a control character',
    expected: 'one key, without spaces',
  })
}

function checkCombination(
  values: Values,
  contract: Contract,
  { chatUrl, rpcUrl }: { readonly chatUrl: string | null; readonly rpcUrl: string | null },
): void {
  const given = chatUrl !== null ? '--chat-upstream' : rpcUrl !== null ? '--rpc-upstream' : null
  if (given === null) return
  for (const name of simulationFlags) {
    if (listFlag(values, name).length === 0 && number(values, name) === null) continue
    throw new UsageError({
      where: `--${name}`,
      got: `also ${given}`,
      expected: 'one of them, since it changes only simulated responses',
    })
  }
  if (rpcUrl !== null && contract.rpc.oneAtATime !== null)
    throw new UsageError({
      where: '--rpc-upstream',
      got: `the profile ${contract.name}, whose RPC requests wait for each other`,
      expected: 'a profile without rpc.oneAtATime',
    })
}

function timeoutOf(values: Values): number {
  const written = text(values, 'upstream-timeout') ?? '2m'
  const timeoutMs = parseDuration(written)
  if (timeoutMs !== null && timeoutMs > 0 && timeoutMs <= maxTimeoutMs) return timeoutMs
  throw new UsageError({
    where: '--upstream-timeout',
    got: JSON.stringify(written),
    expected: 'a time above 0 and up to 1h, such as 2m',
  })
}

/** The upstream's name of a model: the one that is mapped to it, or the one for all, or the same. */
function modelsOf(values: Values, contract: Contract, chatUrl: string | null): (model: string) => string {
  const where = '--chat-upstream-model'
  const known = new Set(contract.models.map(({ id }) => id))
  const mapped = new Map<string, string>()
  let others: string | null = null
  for (const written of listFlag(values, 'chat-upstream-model')) {
    if (chatUrl === null)
      throw new UsageError({
        where,
        got: 'no --chat-upstream',
        expected: '--chat-upstream with it, since it names models there',
      })
    const equals = written.indexOf('=')
    const [model, its] = [written.slice(0, Math.max(0, equals)), written.slice(equals + 1)]
    if (its === '' || (equals >= 0 && !known.has(model)))
      throw new UsageError({
        where,
        got: JSON.stringify(written),
        expected: 'the model name that the upstream knows, or MODEL=NAME with a model of the profile',
      })
    if (equals < 0) others = its
    else mapped.set(model, its)
  }
  return model => mapped.get(model) ?? others ?? model
}

/** Prints each warning once. */
function warnings(): (note: string) => void {
  const seen = new Set<string>()
  return note => {
    if (seen.has(note) || seen.size === maxWarnings) return
    seen.add(note)
    process.stderr.write(`${note}\n`)
  }
}

const maxWarnings = 100
