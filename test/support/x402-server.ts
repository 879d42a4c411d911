import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type Address,
  generateKeyPairSigner,
  getBase58Encoder,
  getPublicKeyFromAddress,
  signatureBytes,
  verifySignature,
} from '@solana/kit'
import { x402Facilitator } from '@x402/core/facilitator'
import {
  type FacilitatorClient,
  type HTTPAdapter,
  type RoutesConfig,
  x402HTTPResourceServer,
  x402ResourceServer,
} from '@x402/core/server'
import type { PaymentPayload } from '@x402/core/types'
import { ExactEvmScheme as EvmFacilitator } from '@x402/evm/exact/facilitator'
import { ExactEvmScheme as EvmServer } from '@x402/evm/exact/server'
import { ExactSvmScheme as SvmFacilitator } from '@x402/svm/exact/facilitator'
import { ExactSvmScheme as SvmServer } from '@x402/svm/exact/server'
import express, { type RequestHandler } from 'express'
import { type Hex, verifyMessage } from 'viem'
import { parseSiweMessage, validateSiweMessage } from 'viem/siwe'
import { toObject } from '../../src/lib/json.ts'
import { baseChain, solanaChain, solanaNodeAnswer, type Transfer } from './x402-chains.ts'

/**
 * A service with wallets that has no code of Turnpike: the resource server and the facilitators of the x402 packages, over
 * chains in memory. It demands what the packages demand, such as that a payment repeats its offer exactly.
 */
export type X402Server = {
  readonly baseUrl: string
  readonly node: string
  /** What was settled, by network. */
  readonly transfers: Readonly<Record<'base' | 'solana', readonly Transfer[]>>
  /** Where payments go. */
  readonly payTo: Readonly<Record<'base' | 'solana', string>>
  /** Why payments and sign-ins were refused. */
  readonly refusals: readonly string[]
  /** The addresses that have signed in, one for each accepted sign-in. */
  readonly signedIn: readonly string[]
  readonly close: () => void
}

const base = 'eip155:8453'
const solana = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
const usdcOnBase = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const prefix = '/api/v1'

/** What a server uses of @x402/express. */
export type X402Express = {
  readonly x402ResourceServer: typeof x402ResourceServer
  readonly paymentMiddleware: (routes: RoutesConfig, server: x402ResourceServer) => RequestHandler
}

export type X402Options = {
  /** How long an offer says that a payment is valid. */
  readonly seconds?: number
  /** The middleware that sells credit; null: the resource server of @x402/core does. */
  readonly middleware?: X402Express | null
  /** When the handler behind the middleware adds the credit. A settlement may still fail if it does so before. */
  readonly credits?: 'after the settlement' | 'before the settlement'
  /** The host and port of a proxy through which callers come; null: they come straight. */
  readonly behind?: string | null
  /** Whether the facilitator looks at payments. */
  readonly verifies?: boolean
}

export async function startX402Server({
  seconds = 300,
  middleware = null,
  credits = 'after the settlement',
  behind = null,
  verifies = true,
}: X402Options = {}): Promise<X402Server> {
  const [evm, svm] = [baseChain(usdcOnBase), await solanaChain()]
  const payTo = { base: `0x${'51'.repeat(20)}`, solana: String((await generateKeyPairSigner()).address) }
  const facilitator = new x402Facilitator()
    .register(base, new EvmFacilitator(evm.signer))
    .register(solana, new SvmFacilitator(svm.signer))
  const client: FacilitatorClient = {
    verify: (payload, requirements) =>
      verifies
        ? facilitator.verify(payload, requirements)
        : Promise.resolve({ isValid: true, payer: payerOf(payload) }),
    settle: (payload, requirements) =>
      verifies
        ? facilitator.settle(payload, requirements)
        : Promise.resolve({ success: true, ...{ transaction: '0x1', network: base, payer: payerOf(payload) } }),
    getSupported: async () => facilitator.getSupported() as Awaited<ReturnType<FacilitatorClient['getSupported']>>,
  }
  const resources = new (middleware?.x402ResourceServer ?? x402ResourceServer)(client)
    .register(base, new EvmServer())
    .register(solana, new SvmServer())
  const option = { scheme: 'exact', price: '$5', maxTimeoutSeconds: seconds }
  const routes: RoutesConfig = {
    [`POST ${prefix}/x402/top-up`]: {
      accepts: [
        { ...option, network: base, payTo: payTo.base },
        { ...option, network: solana, payTo: payTo.solana },
      ],
      description: 'Credit',
      mimeType: 'application/json',
    },
  }
  const shop = new x402HTTPResourceServer(resources, routes)
  await shop.initialize()
  type Paid = { readonly result: { readonly payer?: string }; readonly requirements: { readonly amount: string } }
  const creditPaid = async ({ result, requirements }: Paid): Promise<void> => {
    addCredit(result.payer, requirements.amount)
  }
  if (middleware !== null && credits === 'after the settlement') resources.onAfterSettle(creditPaid)
  if (middleware !== null && credits === 'before the settlement') resources.onAfterVerify(creditPaid)

  const refusals: string[] = []
  const signedIn: string[] = []
  const nonces = new Set<string>()
  const credit = new Map<string, number>()
  let host = ''

  async function topUp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = `${prefix}/x402/top-up`
    const header = (name: string) => request.headers[name.toLowerCase()]?.toString()
    const adapter: HTTPAdapter = {
      getHeader: header,
      getMethod: () => 'POST',
      getPath: () => path,
      getUrl: () => `http://${host}${path}`,
      getAcceptHeader: () => header('accept') ?? '',
      getUserAgent: () => header('user-agent') ?? '',
    }
    const context = { adapter, path, method: 'POST' }
    const result = await shop.processHTTPRequest(context)
    if (result.type === 'no-payment-required') throw new Error('a top-up without a price')
    if (result.type === 'payment-error') {
      const { status, headers, body } = result.response
      if (header('payment-signature') !== undefined) refusals.push(`payment: ${reasonIn(headers)}`)
      return reply(response, status, body ?? {}, headers)
    }
    const { paymentPayload, paymentRequirements, declaredExtensions } = result
    const settled = await shop.processSettlement(paymentPayload, paymentRequirements, declaredExtensions, {
      request: context,
    })
    if (!settled.success) {
      refusals.push(`settlement: ${settled.errorReason}`)
      return reply(response, settled.response.status, settled.response.body ?? {}, settled.response.headers)
    }
    const paid = addCredit(settled.payer, paymentRequirements.amount)
    reply(response, 200, { success: true, data: { ...paid, paymentId: 'p1' } }, settled.headers)
  }

  function addCredit(payer = '', units = '') {
    const walletAddress = accountOf(payer)
    const amountCredited = Number(units) / 1e6
    const newBalance = (credit.get(walletAddress) ?? 0) + amountCredited
    credit.set(walletAddress, newBalance)
    return { walletAddress, amountCredited, newBalance }
  }

  async function signIn({ headers }: IncomingMessage): Promise<string | null> {
    const text = headers['sign-in-with-x']?.toString()
    if (text === undefined) return null
    const reason = await refusalOf(text, host, nonces)
    if (reason !== null) {
      refusals.push(`sign-in: ${reason}`)
      return null
    }
    const { address } = payloadIn(text)
    signedIn.push(accountOf(address))
    return accountOf(address)
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const path = (request.url ?? '').slice(prefix.length)
    if (path === '/x402/top-up') return topUp(request, response)
    if (path === '/node') return reply(response, 200, JSON.parse(solanaNodeAnswer(body)))
    if (path === '/models') return reply(response, 200, { data: [{ id: 'm', type: 'text' }] })
    if (path === '/crypto/rpc/networks') return reply(response, 200, { networks: ['ethereum-mainnet'] })
    const address = await signIn(request)
    if (address === null) return reply(response, 401, { error: 'Authentication failed' })
    const balance = credit.get(address) ?? 0
    if (path.startsWith('/x402/balance/'))
      return reply(response, 200, {
        success: true,
        data: { walletAddress: address, balanceUsd: balance, canConsume: true, minimumTopUpUsd: 5 },
      })
    credit.set(address, balance - 0.001)
    const headers = { 'x-balance-remaining': (balance - 0.001).toFixed(6) }
    if (path === '/chat/completions') return reply(response, 200, completion, headers)
    const calls: unknown = JSON.parse(body)
    const answer = (call: { readonly id: unknown }) => ({ jsonrpc: '2.0', id: call.id, result: '0x1' })
    reply(response, 200, Array.isArray(calls) ? calls.map(answer) : answer(calls as { id: unknown }), headers)
  }

  const server = createServer(middleware === null ? serve : application(middleware))

  function application({ paymentMiddleware }: X402Express) {
    const app = express()
    app.use(paymentMiddleware(routes, resources))
    // The middleware settles a payment after this handler, so that it cannot state the new balance.
    app.post(`${prefix}/x402/top-up`, (_, response) => void response.json({ success: true }))
    app.use(serve)
    return app
  }

  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const own = `127.0.0.1:${(server.address() as AddressInfo).port}`
  host = behind ?? own
  return {
    ...{ baseUrl: `http://${own}${prefix}`, node: `http://${own}${prefix}/node`, payTo, refusals, signedIn },
    transfers: { base: evm.transfers, solana: svm.transfers },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const payerOf = ({ payload }: PaymentPayload): string => String(toObject(payload.authorization)?.from)

const completion = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}

function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
) {
  response.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const reasonIn = (headers: Readonly<Record<string, string>>): string => {
  const text = Buffer.from(headers['PAYMENT-REQUIRED'] ?? '', 'base64').toString()
  return String((JSON.parse(text || '{}') as { readonly error?: unknown }).error)
}

/** EVM addresses have no letter case. */
const accountOf = (address: string): string => (address.startsWith('0x') ? address.toLowerCase() : address)

/** With its text, or with the fields of its text. */
type SignInPayload = { readonly address: string; readonly signature: string } & (
  | { readonly message: string }
  | { readonly [Name in 'domain' | 'uri' | 'chainId' | 'nonce' | 'issuedAt' | 'expirationTime' | 'statement']: string }
)

const payloadIn = (text: string) => JSON.parse(Buffer.from(text, 'base64').toString()) as SignInPayload

/** The text of which a sign-in has only the fields, as the extension of x402 states its lines. */
function textOf(payload: Exclude<SignInPayload, { readonly message: string }>): string {
  const { address, domain, uri, chainId, nonce, issuedAt, expirationTime, statement } = payload
  const [namespace, reference] = chainId.split(':')
  return `${domain} wants you to sign in with your ${namespace === 'solana' ? 'Solana' : 'Ethereum'} account:
${address}

${statement}

URI: ${uri}
Version: 1
Chain ID: ${reference}
Nonce: ${nonce}
Issued At: ${issuedAt}
Expiration Time: ${expirationTime}`
}

/** Why a sign-in is refused, as public packages check it; null: it is accepted. */
async function refusalOf(text: string, domain: string, nonces: Set<string>): Promise<string | null> {
  const payload = payloadIn(text)
  const { address, signature } = payload
  const message = 'message' in payload ? payload.message : textOf(payload)
  const isEvm = address.startsWith('0x')
  // The lines of both chains are the same, but viem reads only those of Ethereum.
  const { nonce = '', ...parsed } = parseSiweMessage(
    isEvm
      ? message
      : message
          .replace('your Solana account', 'your Ethereum account')
          .replace(/^Chain ID: .*$/m, 'Chain ID: 1')
          .replace(`\n${address}\n`, `\n0x${'11'.repeat(20)}\n`),
  )
  if (
    !validateSiweMessage({ message: { ...parsed, nonce, address: `0x${'11'.repeat(20)}` }, domain, time: new Date() })
  )
    return `its text does not hold: ${message}`
  if (isEvm ? parsed.address?.toLowerCase() !== address.toLowerCase() : !message.includes(`\n${address}\n`))
    return 'its text is of another address'
  if (parsed.uri === undefined || new URL(parsed.uri).host !== domain) return 'its URI is of another host'
  const isSigned = isEvm
    ? await verifyMessage({ address: address as Hex, message, signature: signature as Hex })
    : await verifySignature(
        await getPublicKeyFromAddress(address as Address),
        signatureBytes(getBase58Encoder().encode(signature)),
        new TextEncoder().encode(message),
      )
  if (!isSigned) return 'its signature is wrong'
  if (nonce.length < 8 || nonces.has(nonce)) return 'its nonce is too short, or was used'
  nonces.add(nonce)
  return null
}
