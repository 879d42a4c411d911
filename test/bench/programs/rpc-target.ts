import { createServer } from 'node:net'

/**
 * A target that costs next to nothing and still keeps every promise of a single `eth_blockNumber`: ids are new, limits
 * and balance count down. It answers each read with one answer, so a client must not pipeline. Tells its port by IPC.
 * Argument: a `Task` as JSON, or nothing. One that stamps has an account for each key. When it is told to, it tells by IPC
 * what it has stamped, or how late it was when the stall was over.
 */
const limit = 1_000_000_000
const resetSeconds = Math.floor(Date.now() / 1000) + 3_600
const openingUnits = 10_000_000_000_000n // of 10⁻⁷ USD; one call costs 125 of them
const task = process.argv[2] === undefined ? null : (JSON.parse(process.argv[2]) as Task)
const stall = task?.kind === 'stall' ? task : null
/** What is to be said when the stall is over; null: there is none just now. */
let held: (() => void)[] | null = null
/** How long behind the end of the stall each of those was said, in the order in which they had come. */
const releasedMs: number[] = []
let requests = 0
const everybody = openAccount()
const accounts = new Map<string, Account>()

type Account = {
  served: number
  statements: number
  /** When each of its RPC requests came, in milliseconds. */
  readonly stamps: number[]
}

function openAccount(): Account {
  return { served: 0, statements: 0, stamps: [] }
}

export type Task = ({ readonly kind: 'stall' } & Stall) | { readonly kind: 'stamp' }

/** A time in which nobody is answered: it begins so long after the request of this number, from 0, had come. */
export type Stall = { readonly afterRequest: number; readonly phaseMs: number; readonly stallMs: number }

const rpcBodies = { number: rpcBody('1'), text: rpcBody('"r-1"') }
const statementBody = JSON.stringify({ data: { rateLimits: [{ apiModelId: 'other', rateLimits: [] }] } })

function rpcBody(id: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":"0x1312d00"}`
}

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

/** What a timer is late would be an error of the truth. */
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
  const key = /authorization: Bearer (\S+)/i.exec(bytes.toString('latin1'))?.[1] ?? ''
  const account = accounts.get(key) ?? openAccount()
  accounts.set(key, account)
  return account
}

const server = createServer(socket => {
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.on('data', bytes => {
    const atMs = performance.now()
    const isRpc = bytes[0] === 0x50 // P of POST
    const account = task?.kind === 'stamp' ? accountOf(bytes) : everybody
    if (isRpc && task?.kind === 'stamp') account.stamps.push(atMs)
    if (isRpc && stall?.afterRequest === account.served) stallSoon(stall)
    // The id of a single call is 1 or "r-1".
    const body = !isRpc ? statementBody : bytes.includes('"r-1"') ? rpcBodies.text : rpcBodies.number
    // A balance is the one before the request, a remainder the one behind it.
    const balance = (openingUnits - BigInt(account.served) * 125n).toString()
    if (isRpc) account.served++
    else account.statements++
    const { served, statements } = account
    requests++
    const lines = [
      'HTTP/1.1 200 OK',
      'content-type: application/json',
      `content-length: ${body.length}`,
      `date: ${new Date().toUTCString()}`,
      `cf-ray: ${requests}-LHR`,
      'x-service-version: 20260801.120000',
      `x-service-balance-usd: ${balance.slice(0, -7)}.${balance.slice(-7)}`,
      'x-service-balance-diem: 0',
      `x-ratelimit-limit-requests: ${limit}`,
      `x-ratelimit-remaining-requests: ${limit - (isRpc ? served : statements)}`,
      `x-ratelimit-reset-requests: ${resetSeconds}`,
      'x-service-rpc-credits: 20',
      'x-service-rpc-cost-usd: 0.00001250',
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
