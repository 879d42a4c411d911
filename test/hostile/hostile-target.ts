import { documentedContract } from '../../src/contract/documented.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { defaultLatency } from '../../src/service/capacity.ts'
import type { Reply, ServiceRequest } from '../../src/service/message.ts'
import { startServer } from '../../src/service/server.ts'
import { createService } from '../../src/service/service.ts'

/**
 * What a target sends, with an honest service at hand. `count`: requests before this one, without balance checks.
 */
export type Twist = (ask: (request: ServiceRequest) => Reply, request: ServiceRequest, count: number) => Reply

export const isBalanceCheck = ({ path }: ServiceRequest): boolean => path === '/api_keys/rate_limits'
export const isChat = ({ path }: ServiceRequest): boolean => path === '/chat/completions'
export const isRpc = ({ path }: ServiceRequest): boolean => path.startsWith('/crypto/rpc/') && !isNetworks(path)
const isNetworks = (path: string) => path === '/crypto/rpc/networks'

export const whole = (reply: Reply, status: number, text: string): Reply => {
  const { 'content-encoding': _, ...headers } = reply.headers
  return {
    status,
    headers: { ...headers, 'content-type': 'application/json' },
    afterMs: 0,
    body: { kind: 'whole', text },
  }
}

/** An error of the service itself, with its headers and an error object. The honest service charges nothing for it. */
export const refusal =
  (status: number, members: Readonly<Record<string, unknown>> = {}): Twist =>
  (ask, request) =>
    whole(ask(invalid(request)), status, JSON.stringify({ error: `No: ${status}`, ...members }))

/** The same request, but so that the honest service must refuse it. */
function invalid(request: ServiceRequest): ServiceRequest {
  if (isChat(request)) return { ...request, body: JSON.stringify({ ...JSON.parse(String(request.body)), messages: 7 }) }
  return isRpc(request) ? { ...request, body: '{}' } : request
}

/** An error of something in front of the service. */
export const gateway =
  (status: number): Twist =>
  () => ({
    status,
    headers: { 'content-type': 'text/html', date: new Date().toUTCString() },
    afterMs: 0,
    body: { kind: 'whole', text: `<html><h1>${status}</h1></html>` },
  })

/** Changes each success. */
export const replyTwist =
  (change: (reply: Reply) => Reply): Twist =>
  (ask, request) => {
    const reply = ask(request)
    return reply.status === 200 ? change(reply) : reply
  }

/** Changes the body of each success that is sent whole as JSON. */
export const jsonTwist = (change: (value: unknown) => unknown): Twist =>
  replyTwist(reply =>
    reply.body.kind === 'whole'
      ? { ...reply, body: { kind: 'whole', text: JSON.stringify(change(JSON.parse(reply.body.text))) } }
      : reply,
  )

/** A twist for some requests; the others get the honest reply. */
export const only =
  (which: (request: ServiceRequest, count: number) => boolean, twist: Twist): Twist =>
  (ask, request, count) =>
    which(request, count) ? twist(ask, request, count) : ask(request)

/** Starts an honest service behind a twist. */
export async function startTarget(
  twist: Twist,
): Promise<{ readonly target: string; readonly close: () => Promise<void> }> {
  const service = createService({
    contract: documentedContract,
    clock: systemClock(),
    seed: 1,
    openingBalanceUsd: '10',
    openingBalanceDiem: '0',
    timing: defaultLatency,
    lies: [],
    faults: [],
    capacity: null,
  })
  let count = 0
  const respond = (request: ServiceRequest): Reply => {
    return twist(service.respond, request, isBalanceCheck(request) ? count : count++)
  }
  const { port, close } = await startServer({ service: { ...service, respond }, port: 0, host: '127.0.0.1' })
  return { target: `http://127.0.0.1:${port}/api/v1`, close }
}
