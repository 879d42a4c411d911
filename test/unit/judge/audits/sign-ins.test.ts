import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../../../src/contract/clauses.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { SignInForm } from '../../../../src/contract/wallets.ts'
import { createSignInAudit, judgeSignIns } from '../../../../src/judge/audits/sign-ins.ts'
import { createFindingLog } from '../../../../src/judge/findings/findings.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import { chatDescriptor, observed, responseOf, singleDescriptor, startedAtMs } from '../checks/observed.ts'

function judge(observations: readonly Observation[], contract = documentedContract) {
  const findingLog = createFindingLog()
  const context = { contract, shared: false, startedAtMs }
  const reporter = findingLog.reporterFor('sign-ins')
  // Each wallet is in a worker of its own.
  const callers = [...new Set(observations.map(({ caller }) => caller))]
  const audits = new Map(callers.map(caller => [caller, createSignInAudit(context, reporter)]))
  for (const observation of observations) audits.get(observation.caller)?.add(observation, 0)
  for (const audit of audits.values()) audit.finish(true)
  judgeSignIns(
    [...audits.values()].flatMap(audit => audit.groups()),
    reporter,
  )
  return {
    failed: findingLog.findings().map(({ clause, message }) => [clause, message]),
    passed: findingLog.tallies().flatMap(({ id, verdict }) => (verdict === 'pass' ? id : [])),
    because: (clause: ClauseId) => findingLog.tallies().find(({ id }) => id === clause)?.because?.text,
  }
}

const usual: SignInForm = { isLegacy: false, layout: 'message' }
const legacy: SignInForm = { ...usual, isLegacy: true }
let ids = 0
const sent = (
  caller: string,
  request: Observation['request'],
  status: number,
  { chain = 'base', signIn = usual, body = {}, date }: Partial<Observation> & { body?: object; date?: string } = {},
): Observation =>
  observed(request, responseOf(status, { error: 'No', ...body }, date === undefined ? {} : { date }), {
    id: ids++,
    caller,
    chain,
    signIn,
  })
const rpc = singleDescriptor
const chat = chatDescriptor
const onSolana = { chain: 'solana' }

describe('accepted sign-ins', () => {
  test('prove where they were accepted, and in which form', () => {
    expect(judge([sent('w0', rpc, 200)]).passed).toEqual(['wallet.rpc', 'wallet.evm', 'wallet.no-account'])
    expect(judge([sent('w0', chat, 200, { ...onSolana, signIn: legacy })]).passed).toEqual([
      'wallet.inference',
      'wallet.legacy-header',
      'wallet.solana',
      'wallet.no-account',
    ])
  })

  test('may lack credit, if the 402 is that of a wallet', () => {
    expect(judge([sent('w0', rpc, 402, { body: { code: 'PAYMENT_REQUIRED' } })]).passed).toContain('wallet.rpc')
    expect(judge([sent('w0', rpc, 402, { body: { x402Version: 2, accepts: [] } })]).passed).toEqual([])
  })

  test('prove nothing if the request failed for another reason', () => {
    for (const status of [400, 404, 429, 500, 503]) expect(judge([sent('w0', rpc, status)]).passed).toEqual([])
  })
})

describe('a refused sign-in violates', () => {
  const where = 'with SIGN-IN-WITH-X and the layout message got status 401, expected all to be accepted'
  test.each<[string, readonly Observation[], readonly [ClauseId, string]]>([
    [
      'the clause of the part that refuses what others accept',
      [sent('w0', rpc, 200), sent('w0', chat, 401)],
      ['wallet.inference', `1 of 1 sign-in of w0 (evm) for inference ${where}`],
    ],
    [
      'the clause of the part, if only some are refused',
      [sent('w0', rpc, 200), sent('w0', rpc, 401), sent('w0', rpc, 401)],
      ['wallet.rpc', `2 of 3 sign-ins of w0 (evm) to the RPC proxy ${where}`],
    ],
    [
      'the clause of its family, if no wallet of it is accepted',
      [sent('w0', rpc, 401), sent('w1', rpc, 200, onSolana)],
      ['wallet.evm', `1 of 1 sign-in of w0 (evm) to the RPC proxy ${where}`],
    ],
    [
      'the clause of its family on Solana',
      [sent('w0', rpc, 200), sent('w1', rpc, 401, onSolana)],
      ['wallet.solana', `1 of 1 sign-in of w1 (solana) to the RPC proxy ${where}`],
    ],
    [
      'the clause about accounts, if another wallet of its family is accepted',
      [sent('w0', rpc, 200), sent('w1', rpc, 401)],
      ['wallet.no-account', `1 of 1 sign-in of w1 (evm) to the RPC proxy ${where}`],
    ],
    [
      'the clause about the legacy header, if only that is refused',
      [sent('w0', rpc, 200), sent('w0', rpc, 403, { signIn: legacy })],
      [
        'wallet.legacy-header',
        '1 of 1 sign-in of w0 (evm) to the RPC proxy with X-Sign-In-With-X and the layout message got status 403, expected all to be accepted',
      ],
    ],
  ])('%s', (_, observations, expected) => {
    expect(judge(observations).failed).toEqual([expected])
  })
})

describe('a refused sign-in is not accused', () => {
  test('if none was accepted: the domain or the clocks may differ', () => {
    const { failed, because } = judge([sent('w0', rpc, 401), sent('w1', chat, 401, onSolana)])
    expect(failed).toEqual([])
    expect(because('wallet.rpc')).toMatch(
      /^no sign-in was accepted: the domain, the clocks or the layout may differ\..*wallets: \{ signIn: \{ domains: \[/,
    )
  })

  test('if the clock of the target differs by more than ten seconds', () => {
    const date = new Date(startedAtMs + 20_000).toUTCString()
    expect(judge([sent('w0', rpc, 200, { date }), sent('w0', rpc, 401, { date })]).failed).toEqual([])
  })

  test('if its layout is refused, which the document leaves open; but if the profile states it', () => {
    const fields: SignInForm = { ...usual, layout: 'fields' }
    const observations = [sent('w0', rpc, 200), sent('w0', rpc, 401, { signIn: fields })]
    expect(judge(observations).failed).toEqual([])
    const stated = { ...documentedContract, sources: { 'wallets.signIn.layouts': 'profile' as const } }
    expect(judge(observations, stated).failed.map(([clause]) => clause)).toEqual(['wallet.rpc'])
  })

  test('by a caller with keys, a public list, a probe, or a model for paying users', () => {
    const [reserved] = documentedContract.models.filter(({ payingOnly }) => payingOnly)
    const refusals = [
      { ...sent('c0', rpc, 401), chain: undefined },
      sent('w0', { kind: 'models' }, 401),
      sent('w0', { kind: 'probe', probe: 'bad-key' }, 401),
      ...(reserved === undefined ? [] : [sent('w0', { ...chat, model: reserved.id }, 401)]),
    ]
    expect(judge([sent('w0', rpc, 200), ...refusals]).failed).toEqual([])
  })
})

describe('of requests that share a sign-in and are sent at once', () => {
  const refused = documentedContract.wallets.signIn.refusals.replayed.status
  const race = (...statuses: readonly number[]) =>
    statuses.map(status => {
      const body = status === 402 ? { code: documentedContract.wallets.insufficientCode } : {}
      return sent('w0', { kind: 'probe', probe: 'raced-sign-in', race: 7 }, status, { body })
    })

  test.each([200, 402])('one may be accepted (%i)', status => {
    expect(judge(race(refused, status, refused))).toMatchObject({ failed: [], passed: ['wallet.failed'] })
  })

  test.each([
    [[200, 200, refused], 2],
    [[200, 402, 200], 3],
  ])('%j is a violation', (statuses, accepted) => {
    const message = `${accepted} of 3 requests with one sign-in, sent at once, were accepted, expected 1`
    expect(judge(race(...statuses)).failed).toEqual([['wallet.failed', message]])
  })

  test('none need be accepted, and then nothing is proved', () => {
    expect(judge(race(refused, refused, refused))).toMatchObject({ failed: [], passed: [] })
    expect(judge(race(503, 200, 503))).toMatchObject({ failed: [], passed: [] })
  })

  test('nothing is judged before all of them are there', () => {
    expect(judge(race(200, 200)).failed).toEqual([])
  })
})
