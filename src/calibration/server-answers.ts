import type { Contract } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { moneyHeadersOf } from '../contract/headers.ts'
import type { Clock } from '../lib/clock.ts'
import { formatPico, pico } from '../lib/money.ts'
import { stampLine, type TokenStamp } from './token-stamps.ts'

const unlimited = { requestsPerMinute: 1_000_000_000, tokensPerMinute: 1_000_000_000_000 }
const tiers = { XS: unlimited, S: unlimited, M: unlimited, L: unlimited }

/** The contract of the calibration server: the documented one, with limits that one machine cannot reach. */
export const calibrationContract: Contract = {
  ...documentedContract,
  name: 'calibration-server',
  accounts: { default: tiers, partner: tiers },
  limits: { ...documentedContract.limits, windowMs: 3_600_000, tokensReset: 'unix-milliseconds' },
}

const { accounts, chat, headerPrefix, models } = calibrationContract
const { usdBalance, diemBalance } = moneyHeadersOf(calibrationContract)
const { requestsPerMinute, tokensPerMinute } = accounts.default.XS
const promptTokens = 16

/** The requested model: the first, without a discount. */
const [model = missing()] = models

function missing(): never {
  throw new RangeError('the contract has no model')
}

/** Like prose: one word of twenty has an escape, and one has a letter beyond ASCII. */
const words =
  ' the|,| of| and| understand|ing| a| to| in| caf\u00e9|.\\n\\n|It| is| that| with| throughput| on|ly| as|.'.split('|')

export type AccountState = {
  readonly nowMs: number
  readonly picoUsd: bigint
  readonly requestsLeft: number
  readonly tokensLeft: number
  readonly resetMs: number
  /** Number of responses until now. */
  readonly serial: number
}

const costPicoUsd = (tokens: number): bigint => {
  const { input = '0', output = '0' } = model.usdPerMillion ?? {}
  return (pico(input) * BigInt(promptTokens) + pico(output) * BigInt(tokens)) / 1_000_000n
}

const commonHeaders = ({ nowMs, picoUsd, requestsLeft, resetMs, serial }: AccountState): readonly string[] => [
  `date: ${new Date(nowMs).toUTCString()}`,
  `cf-ray: ${serial}-MET`,
  `${headerPrefix}version: 20260801.120000`,
  `${usdBalance}: ${formatPico(picoUsd)}`,
  `${diemBalance}: 0`,
  `x-ratelimit-limit-requests: ${requestsPerMinute}`,
  `x-ratelimit-remaining-requests: ${requestsLeft}`,
  `x-ratelimit-reset-requests: ${Math.floor(resetMs / 1000)}`,
]

/** A complete response for the limits of an account. Its list of limits is empty. */
export function limitsResponse(account: AccountState): string {
  const body = '{"data":{"rateLimits":[{"apiModelId":"none","rateLimits":[]}]}}'
  const headers = [...commonHeaders(account), 'content-type: application/json', `content-length: ${body.length}`]
  return `HTTP/1.1 200 OK\r\n${headers.join('\r\n')}\r\n\r\n${body}`
}

/** The text of one stream: the head with the first event, then each event as a part of a chunked body. */
export type StreamTexts = {
  readonly opening: string
  readonly tokens: (count: number, stamp: TokenStamp) => string
  readonly closing: string
}

export function streamTexts(account: AccountState, tokens: number): StreamTexts {
  const { nowMs, tokensLeft, resetMs, serial } = account
  const common = `"id":"chatcmpl-${String(serial).padStart(12, '0')}","object":"${chat.stream.chunkObject}","created":${Math.floor(nowMs / 1000)},"model":"${model.id}"`
  const headers = [
    ...commonHeaders(account),
    `${headerPrefix}model-id: ${model.id}`,
    `${headerPrefix}model-name: ${model.name}`,
    `x-ratelimit-limit-tokens: ${tokensPerMinute}`,
    `x-ratelimit-remaining-tokens: ${tokensLeft}`,
    `x-ratelimit-reset-tokens: ${resetMs}`,
    'content-type: text/event-stream',
    'transfer-encoding: chunked',
  ]
  const event = (delta: string, reason: string) =>
    `data: {${common},"choices":[{"index":0,"delta":{${delta}},"logprobs":null,"finish_reason":${reason}}]}\n\n`
  const usage = `"usage":{"prompt_tokens":${promptTokens},"completion_tokens":${tokens},"total_tokens":${promptTokens + tokens}}`
  const cost = `"cost":{"usd":${formatPico(costPicoUsd(tokens))},"diem":0}`
  let written = 0
  return {
    opening: `HTTP/1.1 200 OK\r\n${headers.join('\r\n')}\r\n\r\n${part(event('"role":"assistant","content":""', 'null'))}`,
    tokens: (count, stamp) => {
      const line = stampLine(stamp)
      let text = ''
      for (let i = 0; i < count; i++) text += line + event(`"content":"${words[written++ % words.length]}"`, 'null')
      return part(text)
    },
    closing: `${part(`${event('', '"length"')}data: {${common},"choices":[],${usage},${cost}}\n\ndata: ${chat.stream.doneMarker}\n\n`)}0\r\n\r\n`,
  }
}

const part = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

const openingPicoUsd = pico('1000000')
const { windowMs } = calibrationContract.limits

/** One account for all clients, with limits that none of them reaches. */
export function createCalibrationAccount(clock: Clock): { readonly draw: (tokens: number) => AccountState } {
  let picoUsd = openingPicoUsd
  let serial = 0
  let resetMs = 0
  let requests = 0
  let balanceChecks = 0
  let spentTokens = 0
  return {
    draw: tokens => {
      const nowMs = clock.wallMs()
      if (nowMs >= resetMs) {
        resetMs = Math.ceil((nowMs + windowMs) / 1000) * 1000
        requests = 0
        balanceChecks = 0
        spentTokens = 0
      }
      const used = tokens > 0 ? ++requests : ++balanceChecks
      // The balance is from before the request, the remaining requests are from after it.
      const state: AccountState = {
        nowMs,
        picoUsd,
        requestsLeft: requestsPerMinute - used,
        tokensLeft: tokensPerMinute - spentTokens,
        resetMs,
        serial: ++serial,
      }
      if (tokens > 0) {
        spentTokens += promptTokens + tokens
        picoUsd -= costPicoUsd(tokens)
      }
      return state
    },
  }
}
