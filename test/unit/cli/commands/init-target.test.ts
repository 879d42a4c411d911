import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scenarioFor } from '../../../../src/cli/commands/init.ts'
import { draftPlan } from '../../../../src/cli/load-plan.ts'
import { contractSchema } from '../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { parseProfile } from '../../../../src/contract/profile.ts'
import { assertWithinBudget } from '../../../../src/library/draft.ts'
import { parseScenario } from '../../../../src/scenario/load-scenario.ts'
import { type LearnFrom, learnFrom } from '../../../support/learn-from.ts'
import { freshDirectory } from '../../../support/turnpike.ts'

/** Nothing but what is at these paths. */
const only =
  (paths: RegExp): NonNullable<LearnFrom['over']> =>
  service =>
  async (request, ...more) => {
    const [path = ''] = request.path.split('?')
    const answer = await service(paths.test(path) ? request : { ...request, method: 'GET', path: '/models' }, ...more)
    if (paths.test(path)) return answer
    return { ...answer, status: 404, headers: {}, body: Buffer.from('{"error":"no such path"}') }
  }

const limited = (requestsPerMinute: number, dialect: 'kong' | null = null) => {
  const each = { requestsPerMinute, tokensPerMinute: 1_000_000_000 }
  const ofAll = { XS: each, S: each, M: each, L: each }
  const limits = { ...documentedContract.limits, dialect }
  return contractSchema.parse({ ...documentedContract, accounts: { default: ofAll, partner: ofAll }, limits })
}

const chatAlone = only(/^\/(chat\/completions|models)$/)

test.each<[name: string, from: LearnFrom, kinds: string[], rate: string]>([
  ['the whole service', {}, ['chat', 'chat-whole', 'rpc', 'both-forms'], '75% of tier'],
  [
    'a service with high limits',
    { contract: limited(100_000), over: only(/^(?!\/crypto)/) },
    ['chat', 'chat-whole', 'both-forms'],
    '300/m',
  ],
  ['RPC alone', { over: only(/^\/crypto|rate_limits/) }, ['rpc'], '75% of tier'],
  ['lists alone', { over: only(/^\/(models|api_keys)/) }, ['rate-limits'], '60/m'],
  [
    'chat with limits of twelve per minute',
    { contract: limited(12, 'kong'), over: chatAlone },
    ['chat', 'chat-whole', 'models', 'both-forms', 'seeded', 'shorter'],
    '9/m',
  ],
])('a first scenario for %s fits it', async (_, from, kinds, rate) => {
  const lesson = await learnFrom(from)
  const target = 'https://api.example.com/v1'
  const { scenario, worstUsd, unpriced } = scenarioFor(lesson, lesson, target)
  // Every limit of the profile is known here, so a rate above one would be refused.
  const { calls, callers, budgetUsd, stages } = parseScenario(scenario, 's.yaml', parseProfile(lesson.yaml, 'p.yaml'))
  expect(Object.keys(calls)).toEqual(kinds)
  expect(callers.count).toBe(1)
  expect(/rate: ([^,]+),/.exec(scenario)?.[1]).toEqual(rate)
  expect(unpriced.length > 0).toBe(worstUsd === null)
  expect(kinds).toEqual(expect.arrayContaining([...unpriced]))
  if (worstUsd !== null) expect(Number(budgetUsd)).toBeGreaterThanOrEqual(2 * Number(worstUsd))
  // The target is elsewhere: a run refuses a plan that could cost more than its budget, or that has none.
  const folder = freshDirectory()
  writeFileSync(join(folder, 'profile.yaml'), lesson.yaml)
  writeFileSync(join(folder, 'scenario.yaml'), scenario)
  const flags = { target, ...(worstUsd === null && { 'budget-usd': 'unlimited' }) }
  const { plan } = await draftPlan(join(folder, 'scenario.yaml'), flags)
  expect(() => assertWithinBudget(plan, { isDraft: false })).not.toThrow()
  // What was learned at the edge of a limit still counts when the run starts.
  const reachedLimit = lesson.replies.some(({ status }) => status === 429)
  expect(stages.some(({ shape }) => shape === 'pause')).toBe(reachedLimit)
})
