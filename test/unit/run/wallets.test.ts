import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { isSystemStage } from '../../../src/plan/plan.ts'
import { lieByName } from '../../../src/service/lies/lies.ts'
import { type VirtualRun, virtualRun } from '../../support/virtual-run.ts'

const scenario = (callers: string, stages: string) => `name: wallets
callers: { ${callers} }
calls:
  chat: { kind: chat, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 10 }
  rpc: { kind: rpc-batch, size: 3 }
  again: { kind: replay, of: rpc, duplicates: 2, other-caller-ratio: 0.5 }
  ask: { kind: top-up }
  pay: { kind: top-up, pay: true, usd: 7.5 }
  credit: { kind: wallet-balance }
stages:
${stages}`
const steady = '  - { name: steady, duration: 10s, shape: constant, rate: 3/s, mix: { chat: 1, rpc: 2, again: 1 } }'
const sequence = (calls: string) => `  - { name: once, duration: 20s, shape: sequence, calls: [${calls}] }`

describe.each(['base', 'solana'])('wallets on %s', chain => {
  test('send with callers who have keys, and every sign-in is accepted once', async () => {
    const { observations, plan } = await virtualRun({
      scenario: scenario(`count: 2, wallets: 3, chain: ${chain}`, steady),
      wallets: { creditUsd: '3' },
    })
    const load = observations.filter(({ stage }) => !isSystemStage(stage))
    const ofWallets = load.filter(each => each.chain !== undefined)
    expect(new Set(load.map(({ caller }) => caller))).toEqual(new Set(plan.callers.names))
    expect(ofWallets.every(each => each.chain === chain && each.caller.startsWith('w'))).toBe(true)
    expect(new Set(ofWallets.map(({ response }) => response?.status))).toEqual(new Set([200]))
    expect(ofWallets.every(({ response }) => response?.headers['x-balance-remaining'] !== undefined)).toBe(true)
    expect(load.every(({ dueMs, sentMs }) => sentMs === null || sentMs === dueMs)).toBe(true)
  })

  test('may be the only callers, with two workers', async () => {
    const { observations } = await virtualRun({
      scenario: scenario(`count: 0, wallets: 4, chain: ${chain}`, steady),
      wallets: { creditUsd: '3' },
      workers: 2,
    })
    expect(new Set(observations.map(({ response }) => response?.status))).toEqual(new Set([200]))
  })

  test('read their credit before and after the load', async () => {
    const { observations } = await virtualRun({
      scenario: scenario(`count: 0, wallets: 2, chain: ${chain}`, sequence('rpc, credit')),
      wallets: { creditUsd: '3' },
    })
    const checks = observations.filter(({ request }) => request.kind === 'wallet-balance')
    expect(checks.map(({ stage, caller }) => `${stage} ${caller}`).toSorted()).toEqual(
      ['(closing) w0', '(closing) w1', '(opening) w0', '(opening) w1', 'once w0', 'once w1'].toSorted(),
    )
    expect(checks.every(({ response }) => response?.status === 200)).toBe(true)
  })
})

describe('the scenario wallet-sign-in', () => {
  const file = 'scenarios/wallet-sign-in.yaml'
  const { wallets } = documentedContract
  const serviceOf = (signIn: Partial<typeof wallets.signIn>) => ({
    ...documentedContract,
    wallets: { ...wallets, signIn: { ...wallets.signIn, ...signIn } },
  })

  test.each<[string, Partial<VirtualRun>]>([
    ['in three workers', { workers: 3 }],
    ['whose clock is 20 s fast', { skewMs: 20_000 }],
    ['whose clock is 20 s slow', { skewMs: -20_000 }],
    ['whose clock is four minutes fast', { skewMs: 240_000 }],
    ['that accepts one layout', { serviceContract: serviceOf({ layouts: ['message'] }) }],
    [
      'that offers payment to everybody',
      { contract: { ...documentedContract, auth: { ...documentedContract.auth, noKey: [402] } } },
    ],
  ])('accuses no honest service %s', async (_, conditions) => {
    const { report } = await virtualRun({ scenario: file, ...conditions })
    expect([report.verdict, report.findings]).toEqual(['pass', []])
  })

  test('says what may be wrong if the clock of the target is too slow for any sign-in', async () => {
    const { report } = await virtualRun({ scenario: file, skewMs: -40_000 })
    expect([report.verdict, report.findings]).toEqual(['inconclusive', []])
    expect(report.reasons.join()).toContain('rejected every sign-in with 401')
  })

  test('finds a lie about one chain, also if no worker has wallets of both', async () => {
    const lie = lieByName('no-solana-wallets')
    const { report } = await virtualRun({ scenario: file, workers: 2, lies: lie === undefined ? [] : [lie] })
    expect(report.findings.map(({ clause }) => clause)).toEqual(['wallet.solana'])
  })
})

describe('a top-up on base', () => {
  test('before the load pays for its calls', async () => {
    const { observations } = await virtualRun({
      scenario: scenario('count: 0, wallets: 2, chain: base, top-up: 5', sequence('rpc, credit')),
    })
    const opening = observations.filter(({ stage }) => stage === '(opening)')
    expect(
      opening.filter(({ caller }) => caller === 'w0').map(({ request, response }) => [request.kind, response?.status]),
    ).toEqual([
      ['top-up', 402],
      ['top-up', 200],
      ['wallet-balance', 200],
    ])
    const credit = opening.find(({ request }) => request.kind === 'wallet-balance')?.response?.body
    expect(credit).toMatchObject({ value: { data: { balanceUsd: 5 } } })
    expect(observations.filter(({ stage }) => stage === 'once').every(({ response }) => response?.status === 200)).toBe(
      true,
    )
  })

  test('whose fate stays unknown is sent again as it was, is never signed anew, and is reported', async () => {
    const { observations, report } = await virtualRun({
      scenario: scenario('count: 0, wallets: 2, chain: base, top-up: 5', sequence('credit, pay')),
      wallets: { creditUsd: '3', faults: [{ kind: 'down', probability: 1 }] },
    })
    const paid = observations.flatMap(({ request, caller }) =>
      caller === 'w0' && request.kind === 'top-up' && request.payment ? request.payment : [],
    )
    expect(paid.map(({ id, usd, isAgain }) => [id, usd, isAgain])).toEqual([
      ['w0/1', '5', false],
      ['w0/1', '5', true],
      ['w0/1', '5', true],
      ['w0/1', '5', true],
    ])
    expect(report.reasons.join()).toContain('The outcome of 2 payments is unknown (w0/1, w1/1): $10 may be spent.')
  })

  test('in the load pays the amount of the call, and counts as spent', async () => {
    const calls = sequence('ask, pay, credit, pay').replace('duration', 'first-caller: 1, duration')
    const { observations, report } = await virtualRun({
      scenario: scenario('count: 1, wallets: 1, chain: base', `${calls}\nbudget: { usd: 8 }`),
    })
    const paid = observations.flatMap(({ request }) =>
      request.kind === 'top-up' && request.payment ? request.payment : [],
    )
    expect(paid).toMatchObject([{ id: 'w0/1', usd: '7.5', amount: '7500000', isAgain: false }])
    const credit = observations.find(({ call, stage }) => call === 'credit' && stage === 'once')
    expect(credit?.response?.body).toMatchObject({ value: { data: { balanceUsd: 7.5 } } })
    // The second payment would exceed the budget.
    expect(report.run.ended).toBe('budget-reached')
  })
})

test('no artifact of a run has a private key, a sign-in or a payment', async () => {
  const { observations, plan, report } = await virtualRun({
    scenario: scenario('count: 1, wallets: 2, chain: [base, solana]', steady),
    wallets: { creditUsd: '3' },
  })
  const written = JSON.stringify([observations, plan, report])
  expect(written).not.toMatch(/eyJ[A-Za-z0-9+/]{40}/)
  expect(written).not.toContain('privateKey')
})
