import { createServer } from 'node:net'

/**
 * A cheap target that meets every clause for a single `eth_blockNumber`: ids are new, limits and balance decrease. It
 * sends one response per read, so a client must not pipeline. It sends its port by IPC. Argument: a `Task` as JSON, or
 * nothing. A stamping target has an account for each caller, with a key or with a wallet. On a message, it sends its
 * stamps by IPC, or its delays after the stall.
 */
const limit = 1_000_000_000
const resetSeconds = Math.floor(Date.now() / 1000) + 3_600
const openingUnits = 10_000_000_000_000 // of 10⁻⁷ USD; one call costs 125 of them
const task = process.argv[2] === undefined ? null : (JSON.parse(process.argv[2]) as Task)
const stall = task?.kind === 'stall' ? task : null
/** The responses to send after the stall; null outside of a stall. */
let held: (() => void)[] | null = null
/** How long after the end of the stall each of them was sent, in the order of arrival. */
const releasedMs: number[] = []
let requests = 0
const singleAccount = openAccount()
const accounts = new Map<string, Account>()

type Account = {
  served: number
  balanceChecks: number
  /** The arrival times of its RPC requests, in milliseconds. */
  readonly stamps: number[]
}

function openAccount(): Account {
  return { served: 0, balanceChecks: 0, stamps: [] }
}

export type Task = ({ readonly kind: 'stall' } & Stall) | { readonly kind: 'stamp' }

/** A time without responses. It starts `phaseMs` after the request with this number, counted from 0. */
export type Stall = { readonly afterRequest: number; readonly phaseMs: number; readonly stallMs: number }

/** By the id as the request has it. */
const rpcBodies = new Map<string, string>()
const balanceCheckBody = JSON.stringify({ data: { rateLimits: [{ apiModelId: 'other', rateLimits: [] }] } })

/** The body that echoes the id of a single request. */
function rpcBody(request: Buffer): string {
  const start = request.indexOf(idMember) + idMember.length
  const id = request.toString('latin1', start, request.indexOf(',', start))
  const body = rpcBodies.get(id) ?? `{"jsonrpc":"2.0","id":${id},"result":"0x1312d00"}`
  rpcBodies.set(id, body)
  return body
}

const idMember = '"id":'

function stallSoon({ phaseMs, stallMs }: Stall): void {
  const beginMs = performance.now() + phaseMs
  const begin = () => {
    held = []
    atPrecisely(beginMs + stallMs, end)
  }
  const end = () => {
    for (const response of held ?? []) {
      releasedMs.push(performance.now() - beginMs - stallMs)
      response()
    }
    held = null
  }
  if (phaseMs === 0) begin()
  else atPrecisely(beginMs, begin)
}

/** The lateness of a timer would be an error of the reference value. */
function atPrecisely(dueMs: number, wake: () => void): void {
  const coarseMs = 2
  setTimeout(
    () => {
      while (performance.now() < dueMs);
      wake()
    },
    dueMs - performance.now() - coarseMs,
  )
}

function accountOf(bytes: Buffer): Account {
  const [, key, wallet] = /authorization: Bearer (\S+)|sign-in-with-x: (.{72})/i.exec(bytes.toString('latin1')) ?? []
  const name = key ?? wallet ?? ''
  const account = accounts.get(name) ?? openAccount()
  accounts.set(name, account)
  return account
}

/** The credit of the wallet that a path names; null: the path names none. */
function creditBody(bytes: Buffer, balance: string): string | null {
  const [, walletAddress] = /^GET \S+\/x402\/balance\/(\S+)/.exec(bytes.toString('latin1')) ?? []
  const terms = { canConsume: true, minimumTopUpUsd: 5, suggestedTopUpUsd: 10 }
  return walletAddress === undefined
    ? null
    : JSON.stringify({ success: true, data: { walletAddress, balanceUsd: Number(balance), ...terms } })
}

const usdOf = (units: number): string => {
  const text = String(units)
  return `${text.slice(0, -7)}.${text.slice(-7)}`
}

const isWallet = (bytes: Buffer): boolean =>
  task?.kind === 'stamp' && /sign-in-with-x: /i.test(bytes.toString('latin1'))

let date = ''
let dateUntilMs = 0

/** Formatted once per second, since formatting costs as much as the rest of a response. */
function httpDate(): string {
  const nowMs = Date.now()
  if (nowMs >= dateUntilMs) {
    date = new Date(nowMs).toUTCString()
    dateUntilMs = nowMs - (nowMs % 1_000) + 1_000
  }
  return date
}

const server = createServer(socket => {
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.on('data', bytes => {
    const atMs = performance.now()
    const isRpc = bytes[0] === 0x50 // P of POST
    const account = task?.kind === 'stamp' ? accountOf(bytes) : singleAccount
    if (isRpc && task?.kind === 'stamp') account.stamps.push(atMs)
    if (isRpc && stall?.afterRequest === account.served) stallSoon(stall)
    // The balance is that before the request, the remaining requests those after it.
    const balance = usdOf(openingUnits - account.served * 125)
    const listBody = isRpc ? '' : (creditBody(bytes, balance) ?? balanceCheckBody)
    const body = isRpc ? rpcBody(bytes) : listBody
    if (isRpc) account.served++
    else account.balanceChecks++
    const { served, balanceChecks } = account
    requests++
    const lines = [
      'HTTP/1.1 200 OK',
      'content-type: application/json',
      `content-length: ${body.length}`,
      `date: ${httpDate()}`,
      `cf-ray: ${requests}-LHR`,
      'x-service-version: 20260801.120000',
      `x-service-balance-usd: ${balance}`,
      ...(isRpc && isWallet(bytes) ? [`x-balance-remaining: ${usdOf(openingUnits - account.served * 125)}`] : []),
      'x-service-balance-diem: 0',
      `x-ratelimit-limit-requests: ${limit}`,
      `x-ratelimit-remaining-requests: ${limit - (isRpc ? served : balanceChecks)}`,
      `x-ratelimit-reset-requests: ${resetSeconds}`,
      ...(isRpc ? ['x-service-rpc-credits: 20', 'x-service-rpc-cost-usd: 0.00001250'] : []),
      `x-request-id: r${requests}`,
    ]
    const text = `${lines.join('\r\n')}\r\n\r\n${body}`
    const response = () => socket.write(text)
    if (held === null) response()
    else held.push(response)
  })
})

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : 0 })
})
process.on('message', () =>
  process.send?.(stall === null ? [...accounts.values()].map(({ stamps }) => stamps) : releasedMs),
)
process.once('disconnect', () => process.exit())
