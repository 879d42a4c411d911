import { describe, expect, test } from 'vitest'
import { parseProfile } from '../../../src/contract/profile.ts'
import { loadAddedSecrets } from '../../../src/contract/requests/additions.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import type { HttpRequest, Transport } from '../../../src/produce/transport/transport.ts'
import { memoryTransport } from '../../../src/prove/memory-run.ts'
import { evidenceOf } from '../../../src/run/evidence.ts'
import { knownLie } from '../../../src/service/lies/lies.ts'
import { createService } from '../../../src/service/service.ts'
import { virtualRun } from '../../support/virtual-run.ts'
import { conversation, steadyTiming } from '../service/conversation.ts'

const scenario = `
name: addressed
callers: { count: 1 }
calls:
  rpc: { kind: rpc, network-family: evm, methods: { eth_chainId: 1 } }
  chat: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 5, max-completion-tokens: 4 }
  models: { kind: models }
stages:
  - { name: once, duration: 5s, shape: sequence, calls: [rpc, chat, models, bad-key, no-key, other-scheme, key-of-other-scheme, key-without-scheme, key-in-other-header] }
budget: { usd: 1 }
`
const forms = ['{ header: api-key, scheme: null }', '{ scheme: Token }', '{ header: X-Gateway-Key, scheme: Key }']
const clausesFound = async (auth: string, lies: readonly string[] = []) => {
  const contract = parseProfile(`auth: ${auth}`, 'p.yaml')
  const { report } = await virtualRun({ scenario, contract, lies: lies.map(knownLie) })
  return { report, clauses: report.findings.map(({ clause }) => clause) }
}

describe.each(forms)('keys as %s', auth => {
  test('an honest service is accused of nothing', async () => {
    const { report, clauses } = await clausesFound(auth)
    expect(clauses).toEqual([])
    expect(report.verdict, report.reasons.join('; ')).toBe('pass')
  })

  test.each([
    ['auth.bearer', 'any-key-will-do'],
    ['auth.missing', 'no-key-will-do'],
    ['auth.malformed', 'any-scheme-will-do'],
    ['auth.malformed', 'other-scheme-breaks-it'],
    ['auth.malformed', 'key-of-any-scheme'],
  ])('%s finds that %s', async (clause, lie) => {
    expect((await clausesFound(auth, [lie])).clauses).toContain(clause)
  })
})

test('the reference service takes a key only in the form of its profile', () => {
  const contract = parseProfile('auth: { header: api-key, scheme: null }', 'p.yaml')
  const { ask } = conversation({ contract })
  const statusOf = (headers: Readonly<Record<string, string>>) =>
    ask({
      path: '/crypto/rpc/base-mainnet',
      key: null,
      headers,
      body: { jsonrpc: '2.0', id: 1, method: 'eth_chainId' },
    }).status
  expect(statusOf({ 'api-key': 'ref_default_ada' })).toBe(200)
  expect(statusOf({ authorization: 'Bearer ref_default_ada' })).toBe(401)
  expect(statusOf({ 'api-key': 'Bearer ref_default_ada' })).toBe(401)
  expect(statusOf({})).toBe(401)
})

describe('headers and parameters of a profile', () => {
  const profile = `
requestHeaders: { X-Portkey-Provider: openai, authorization: { env: TURNPIKE_HEADER_GATEWAY } }
requestQuery: { api-version: 2024-06-01, code: { env: TURNPIKE_QUERY_CODE } }
auth: { header: api-key, scheme: null }
`
  const contract = parseProfile(profile, 'p.yaml')
  const gateway = 'Bearer gw-4f6a8d2c9e1b7035'
  const code = '9d1c7a3e5b2f%2B80'
  const addedSecrets = { TURNPIKE_HEADER_GATEWAY: gateway, TURNPIKE_QUERY_CODE: code }

  test('are part of each request, and a service that demands them is accused of nothing', async () => {
    const environment = { TURNPIKE_KEYS: 'ref_default_ada', ...addedSecrets }
    const seen: HttpRequest[] = []
    const connect = (clock: Clock): Transport => {
      const service = createService({
        ...{ contract, clock, seed: 1, lies: [], timing: steadyTiming },
        ...{ openingBalanceUsd: '10', openingBalanceDiem: '0' },
        addedSecrets,
      })
      const send = memoryTransport(service, clock)
      return (request, ...rest) => {
        seen.push(request)
        return send(request, ...rest)
      }
    }
    const { report, observations } = await virtualRun({ scenario, contract, target: { connect, environment } })
    expect(report.findings.map(({ message }) => message)).toEqual([])
    expect(report.verdict, report.reasons.join('; ')).toBe('pass')
    expect(observations.length).toBeGreaterThan(7)
    for (const { path, headers } of seen) {
      expect(path).toContain(`api-version=2024-06-01&code=${code}`)
      expect(headers).toMatchObject({ 'x-portkey-provider': 'openai', authorization: gateway })
    }
    expect(JSON.stringify([report, observations])).not.toMatch(/4f6a8d2c9e1b7035|9d1c7a3e5b2f/)
  })

  test.each([
    ['header x-portkey-provider', { authorization: gateway }, '?api-version=2024-06-01'],
    ['header authorization', { 'x-portkey-provider': 'openai' }, '?api-version=2024-06-01'],
    ['parameter api-version', { 'x-portkey-provider': 'openai', authorization: gateway }, '?api-version=1'],
    ['parameter code', { 'x-portkey-provider': 'openai', authorization: gateway }, '?api-version=2024-06-01'],
  ])('the reference service refuses a request without the %s', (what, headers, query) => {
    const { ask } = conversation({ contract })
    const own = { ...headers, 'api-key': 'ref_default_ada' }
    const reply = ask({ method: 'GET', path: `/models${query}`, key: null, headers: own })
    expect(reply.status).toBe(400)
    expect(reply.body).toEqual({ kind: 'whole', text: JSON.stringify({ error: `The ${what} is missing` }) })
  })

  test('a command shows the variable, and never the secret', async () => {
    const { plan, observations, head } = await virtualRun({ scenario, contract })
    const context = { contract, bounds: plan.bounds, seed: plan.seed, runId: head.runId }
    const first = observations.find(({ call }) => call === 'rpc')
    if (first === undefined) throw new Error('no request')
    const { curl, path } = evidenceOf(first, plan.calls, context, head).request ?? {}
    expect(path).toContain('?api-version=2024-06-01&code=$TURNPIKE_QUERY_CODE')
    expect(curl).toContain(`?api-version=2024-06-01&code='"$TURNPIKE_QUERY_CODE"`)
    expect(curl).toContain(`-H 'authorization: '"$TURNPIKE_HEADER_GATEWAY"`)
    expect(curl).toContain(`-H 'api-key: '"$TURNPIKE_KEY"`)
  })

  test.each([
    [{}, 'TURNPIKE_HEADER_GATEWAY: got nothing, expected the value of the header authorization'],
    [{}, 'TURNPIKE_QUERY_CODE: got nothing, expected the value of the parameter code'],
    [{ TURNPIKE_QUERY_CODE: 'a+b' }, 'TURNPIKE_QUERY_CODE: got characters that an address has only encoded'],
    [{ TURNPIKE_HEADER_GATEWAY: 'a\nb' }, 'TURNPIKE_HEADER_GATEWAY: got a value that no header can have, expected'],
  ])('a secret that is missing or invalid is a mistake: %j', (environment, mistake) => {
    expect(() => loadAddedSecrets(contract, environment, false)).toThrow(mistake)
  })

  test('the service that a run starts takes any value', () => {
    expect(loadAddedSecrets(contract, {}, true)).toEqual({})
  })
})

describe('a path that names the model', () => {
  const contract = parseProfile('paths: { chat: "/openai/deployments/{model}/chat/completions" }', 'p.yaml')
  const calls = 'stream: false, prompt-tokens: 5, max-completion-tokens: 4'
  const models = `
name: deployments
callers: { count: 1 }
calls:
  small: { kind: chat, model-tier: XS, ${calls} }
  large: { kind: chat, model-tier: L, ${calls} }
stages:
  - { name: once, duration: 5s, shape: sequence, calls: [small, large, messages-missing, model-missing, wrong-media-type] }
budget: { usd: 1 }
`

  test('is that of each model, and an honest service is accused of nothing', async () => {
    const asked: string[] = []
    const connect = (clock: Clock): Transport => {
      const service = createService({
        ...{ contract, clock, seed: 1, lies: [], timing: steadyTiming },
        ...{ openingBalanceUsd: '10', openingBalanceDiem: '0' },
      })
      const send = memoryTransport(service, clock)
      return (request, ...rest) => {
        asked.push(request.path)
        return send(request, ...rest)
      }
    }
    const { report } = await virtualRun({
      ...{ scenario: models, contract },
      target: { connect, environment: { TURNPIKE_KEYS: 'ref_default_ada' } },
    })
    expect(report.findings).toEqual([])
    const paths = contract.models.flatMap(({ id, tier }) =>
      tier === 'XS' || tier === 'L' ? [`/openai/deployments/${id}/chat/completions`] : [],
    )
    expect([...new Set(asked)]).toEqual(expect.arrayContaining(paths.slice(0, 1)))
    expect(new Set(asked.filter(path => path.includes('/deployments/'))).size).toBeGreaterThanOrEqual(2)
  })

  test('a lie about what a request may contain is still found', async () => {
    const { report } = await virtualRun({ scenario: models, contract, lies: [knownLie('conversation-by-default')] })
    expect(report.findings.map(({ clause }) => clause)).toContain('chat.request')
  })
})
