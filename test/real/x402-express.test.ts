import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, request as send } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { reportSchema } from '../../src/report/document.ts'
import { originOf } from '../support/behind-proxy.ts'
import { describeWith } from '../support/real-part.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'
import { startX402Server, type X402Express, type X402Options } from '../support/x402-server.ts'

const scenario = `
name: credit-by-express
callers: { count: 0, wallets: 2, chain: [base, solana] }
calls:
  offer: { kind: top-up }
  pay: { kind: top-up, pay: true, usd: 5, duplicates: 2 }
  race: { kind: top-up, pay: true, usd: 5, duplicates: 3, concurrent: true }
  tampered: { kind: top-up, pay: true, usd: 5, invalid: tampered }
  above-signed: { kind: top-up, pay: true, usd: 5, invalid: above-signed }
  other-chain: { kind: top-up, pay: true, usd: 5, invalid: other-chain }
  below-minimum: { kind: top-up, pay: true, usd: 4.99 }
  credit: { kind: wallet-balance }
stages:
  - name: payments
    duration: 6s
    shape: sequence
    calls: [offer, credit, pay, credit, race, credit, tampered, credit, above-signed, credit, other-chain, credit, below-minimum, credit]
thresholds:
  - { expect: violations == 0, why: A caller without an account can rely on nothing else. }
  - { expect: discrepancies == 0, why: Credit must be what was paid. }
  - { expect: failed <= 10%, why: Payments that are right must be accepted. }
`

/** What an application of these packages promises. The middleware refuses payments with its offer, of one amount. */
const profile = `
promises: { only: ["wallet.*", header.payment-required] }
wallets:
  signIn: { legacyHeader: null }
  topUp:
    legacyPaymentHeaders: []
    offerStatus: 402
    refusals:
      unverified: { status: 402, code: null }
      belowMinimum: { status: 402, code: null }
      otherResource: { status: 402, code: null }
      replayed: { status: 402, code: null }
billing: { balanceHeaders: false, settleMs: 0 }
`

type Message = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string }
type Fault = {
  readonly options?: X402Options
  /** Changes the headers of a request to top up. */
  readonly request?: (headers: IncomingHttpHeaders) => IncomingHttpHeaders
  /** Changes the response to one; `isPaid`: whether a payment was in the request. */
  readonly response?: (response: Message, isPaid: boolean) => Partial<Message>
}

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** A proxy that keeps all headers, also the host, but for what a fault changes of top-ups. */
async function proxyTo(origin: () => string, { request: change, response: alter }: Fault): Promise<string> {
  const server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming)
    const isTopUp = incoming.url?.endsWith('/top-up') === true
    const headers = isTopUp && change ? change(incoming.headers) : incoming.headers
    const { hostname, port } = new URL(origin())
    const onward = send({
      ...{ hostname, port, path: incoming.url, method: incoming.method },
      headers: { ...headers, connection: 'close' },
    })
    onward.end(body)
    onward.on('response', async got => {
      const honest = { status: got.statusCode ?? 0, headers: got.headers, body: String(await buffer(got)) }
      const isPaid = incoming.headers['payment-signature'] !== undefined
      const sent = { ...honest, ...(isTopUp && alter ? alter(honest, isPaid) : {}) }
      const { 'content-length': _, 'transfer-encoding': __, ...kept } = sent.headers
      outgoing.writeHead(sent.status, { ...kept, 'content-length': Buffer.byteLength(sent.body) })
      outgoing.end(sent.body)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return originOf(server)
}

/** Changes the ways to pay of an offer. */
const offering =
  (change: (option: Readonly<Record<string, unknown>>) => object): NonNullable<Fault['response']> =>
  ({ headers }) => {
    const text = Buffer.from(String(headers['payment-required'] ?? ''), 'base64').toString()
    if (text === '') return {}
    const offer = JSON.parse(text) as { readonly accepts: readonly Readonly<Record<string, unknown>>[] }
    const changed = JSON.stringify({ ...offer, accepts: offer.accepts.map(change) })
    return { headers: { ...headers, 'payment-required': Buffer.from(changed).toString('base64') } }
  }

/** Changes the result of a payment that the middleware settled. */
const settling =
  (change: (result: object) => object | null): NonNullable<Fault['response']> =>
  ({ headers: { 'payment-response': result, ...headers } }) => {
    if (result === undefined) return {}
    const changed = change(JSON.parse(Buffer.from(String(result), 'base64').toString()) as object)
    if (changed === null) return { headers }
    return { headers: { ...headers, 'payment-response': Buffer.from(JSON.stringify(changed)).toString('base64') } }
  }

const success = { status: 200, body: '{"success":true}' }

describeWith('x402-express', 'an Express application that sells credit with the middleware of @x402/express', () => {
  async function judged(fault: Fault = {}) {
    const folder = process.env.TURNPIKE_X402_EXPRESS ?? ''
    const middleware = (await import(`${folder}/dist/esm/index.mjs`)) as X402Express
    let origin = ''
    const proxy = await proxyTo(() => origin, fault)
    const server = await startX402Server({ ...fault.options, middleware, behind: new URL(proxy).host })
    closing.push(server.close)
    origin = new URL(server.baseUrl).origin
    const files = freshDirectory()
    const [file, terms, out] = [`${files}/scenario.yaml`, `${files}/profile.yaml`, `${files}/run`]
    writeFileSync(file, scenario)
    writeFileSync(terms, profile)
    const flags = ['--target', `${proxy}/api/v1`, '--profile', terms, '--out', out, '--quiet', '--no-warm-up']
    const { code, stderr } = await turnpike(['run', file, ...flags], { TURNPIKE_SOLANA_NODE: server.node })
    expect([0, 1, 3], stderr).toContain(code)
    const report = reportSchema.parse(JSON.parse(readFileSync(`${out}/report.json`, 'utf8')))
    return { server, code, report, named: [...new Set(report.findings.map(({ clause }) => clause))] }
  }

  test('is accused of nothing, and its offers, credits and refusals are judged', async () => {
    const { server, code, report } = await judged()
    expect(report.findings).toEqual([])
    expect([code, report.verdict], report.reasons.join('\n')).toEqual([0, 'pass'])
    expect(report.clauses.flatMap(({ id, verdict }) => (verdict === 'pass' ? id : []))).toEqual(
      expect.arrayContaining([
        ...['header.payment-required', 'wallet.payment-required', 'wallet.top-up.offer', 'wallet.top-up.rails'],
        ...['wallet.balance', 'wallet.top-up.credit', 'wallet.top-up.once', 'wallet.top-up.least'],
        ...['wallet.top-up.invalid', 'wallet.top-up.refusal', 'wallet.top-up.result'],
      ]),
    )
    // Of all payments of a wallet, two count: the one that arrives three times, and the one that arrives four times at once.
    for (const transfers of Object.values(server.transfers))
      expect(transfers.map(({ amount }) => amount)).toEqual([5_000_000n, 5_000_000n])
  })

  const faults: readonly (readonly [does: string, clause: string, Fault])[] = [
    ['adds the credit before the settlement', 'wallet.top-up.once', { options: { credits: 'before the settlement' } }],
    ['believes a facilitator that accepts everything', 'wallet.top-up.invalid', { options: { verifies: false } }],
    [
      'loses payments on their way',
      'wallet.top-up.credit',
      { request: ({ 'payment-signature': _, ...others }) => others },
    ],
    [
      'says that payments succeed and keeps them',
      'wallet.top-up.credit',
      {
        request: ({ 'payment-signature': _, ...others }) => others,
        response: (_, isPaid) => (isPaid ? { ...success, headers: {} } : {}),
      },
    ],
    [
      'offers less than the minimum',
      'wallet.top-up.offer',
      { response: offering(option => ({ ...option, amount: '1000000' })) },
    ],
    [
      'offers another token',
      'wallet.top-up.rails',
      { response: offering(option => ({ ...option, asset: option.payTo })) },
    ],
    [
      'says of bad payments that they succeed',
      'wallet.top-up.invalid',
      {
        response: ({ status, headers: { 'payment-required': _, ...headers } }, isPaid) =>
          isPaid && status === 402 ? { ...success, headers } : {},
      },
    ],
    [
      'gives credit away without asking for a payment',
      'wallet.top-up.offer',
      { response: (_, isPaid) => (isPaid ? {} : { ...success, headers: {} }) },
    ],
    ['leaves out how a payment was settled', 'wallet.top-up.result', { response: settling(() => null) }],
    [
      'names another payer',
      'wallet.top-up.result',
      { response: settling(result => ({ ...result, payer: '0x0000000000000000000000000000000000000001' })) },
    ],
    ['offers in a success', 'header.payment-required', { response: (_, isPaid) => (isPaid ? {} : { status: 200 }) }],
  ]
  test.each(faults)('one that %s is named', async (_, clause, fault) => {
    const { named, code } = await judged(fault)
    expect(named).toContain(clause)
    expect(code).toBe(1)
  })
})
