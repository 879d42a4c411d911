import { describe, expect, test } from 'vitest'
import { isExtra } from '../../src/contract/clauses.ts'
import { contractSchema } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { parseProfile } from '../../src/contract/profile.ts'
import { notPromised } from '../../src/contract/promises.ts'
import { firstScenario } from '../../src/learn/first-scenario.ts'
import { type Lie, lie } from '../../src/service/lies/lie.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { changeReplies, isAny, setFields } from '../../src/service/lies/replies.ts'
import { foreign } from '../support/learn-foreign.ts'
import { learnFrom } from '../support/learn-from.ts'
import { virtualRun } from '../support/virtual-run.ts'

const told = (...names: readonly string[]): readonly Lie[] => {
  const lies = names.map(lieByName).filter(lie => lie !== undefined)
  if (lies.length < names.length) throw new Error(`one of these is no lie: ${names}`)
  return lies
}
const liar = (...names: readonly string[]) => learnFrom({ lies: told(...names) })

test('the documented service differs in nothing', async () => {
  const { differences, yaml } = await learnFrom()
  expect(differences).toEqual([])
  expect(yaml).not.toContain('DIFFERS')
  expect(parseProfile(yaml, 'x').promises).toEqual({ only: null, except: [] })
})

/** Lies that do not hide each other, and what `learn` says about each. */
const groups: readonly (readonly (readonly [lie: string, said: RegExp])[])[] = [
  [
    [
      'no-ray-on-errors',
      /^header\.cf-ray: cf-ray is nothing on a 401, expected a request id \(\d+ of \d+ times, such as call/,
    ],
    ['no-version-on-errors', /^header\.version: x-service-version is nothing on a 401, .* \(\d+ of \d+ times/],
    ['balance-remaining-for-keys', /^billing\.balanceRemaining: "anyone", the document says "wallets"/],
    ['any-key-will-do', /^auth\.bearer: bad-key got status 200, expected 401/],
    ['everything-on-credit', /^error\.402: empty-account got status 200, expected 402/],
  ],
  [
    ['no-key-will-do', /^auth\.missing: no-key got status 200, expected 401 or 402/],
    ['other-code-of-poverty', /^errors\.insufficientBalanceCode: "NO_FUNDS"/],
    ['no-limits-on-rpc', /^limit\.requests\.headers: x-ratelimit-limit-requests is nothing, .* \(\d+ of \d+ times/],
    ['reset-as-time-left', /^limit\.requests\.reset: the reset of control is \d+ s ago/],
    ['no-token-reset', /^limits\.tokenHeaders: false, the document says true/],
  ],
  [
    ['no-key-is-400', /^auth\.noKey: \[400\], the document says/],
    ['token-reset-as-unix-time', /^limit\.tokens\.reset: x-ratelimit-reset-tokens is \d+, expected at most 60 s/],
    ['limits-of-an-hour', /^limit\.requests\.limit: the stated limit of chat:ref-nano-3b is 500, expected 30000/],
    ['wrong-media-type-is-400', /^chat\.wrongMediaTypeStatus: 400, the document says 415/],
    ['never-compressed', /^chat\.compression: "optional", the document says "required"/],
  ],
  [
    ['error-in-html', /^error\.object: the body of a 401 is not a JSON object, expected one with a text/],
    ['any-media-type', /^chat\.media-type: wrong-media-type got status 200, expected 415/],
    ['compressed-in-name', /^chat\.compression\.body: the body is not valid br/],
    ['usage-without-prompt', /^chat\.usage: usage is .* expected three whole token counts/],
    ['negative-cost', /^chat\.cost: cost is .*-0\.0000168.* both non-negative numbers/],
  ],
  [
    ['total-without-prompt', /^chat\.usage\.sum: 48 \+ 16 tokens have the stated total 16, expected 64/],
    ['cost-ten-fold', /^chat\.cost\.amount: .* expected 0\.0000168 by the list price/],
    ['no-usage', /^chat\.stream\.usage: the stream is .* expected usage once/],
    ['no-done', /^chat\.stream\.done: the stream is .* expected one \[DONE\] at its end/],
    ['unsupported-is-404', /^rpc\.batch\.rejected: unsupported-methods-in-batch got status 404, expected 400/],
  ],
  [
    ['bound-not-heeded', /^chat\.max-completion-tokens: \d+ tokens were generated, expected at most the requested 16/],
    ['no-allow-list', /^rpc\.unsupported-method: unlisted-method got status 200, expected 400/],
    ['batch-of-fifty', /^rpc\.batchLimit: 50, the document says 100/],
    ['failed-batch-is-400', /^rpc\.item-failure\.status: a request with a failing item got status 400, expected 200/],
    ['large-as-advanced', /^rpc\.multipliers\.large: 2, the document says 4/],
  ],
  [
    ['first-method-named', /^rpc\.namesEveryMethod: false, the document says true/],
    ['failed-item-in-full', /^rpc\.errorItemCredits: 20, the document says 5/],
    ['dearer-credits', /^rpc\.usdPerCredit: "0\.0000007", the document says "0\.000000625"/],
    ['no-request-id', /^rpc\.request-id: x-request-id is nothing, expected an id/],
    ['replay-unmarked', /^missing: replays: a repeated request has no Idempotent-Replayed/],
  ],
  [
    ['batch-of-any-size', /^rpc\.batch\.limit: the limit is at least 1001/],
    ['last-item-unbilled', /^rpc\.credits\.amount: \d+ credits for a batch of \d+ on ethereum-mainnet, expected \d+/],
    ['cost-of-one-credit-less', /^rpc\.cost\.amount: 20 credits cost 0\.00001188 USD, expected about 0\.0000125/],
    ['replay-reformatted', /^rpc\.replay\.body: a replay has another body than the response that it repeats/],
    ['conflict-is-409', /^rpc\.replay\.conflict: a used key with another body got status 409, expected 400/],
    ['key-with-dots', /^rpc\.replay\.bad-key: key-with-a-dot got status 200, expected 400/],
  ],
]

const names = (group: (typeof groups)[number]) => group.map(([name]) => name)

test.each(groups.map(group => [names(group).join(', '), group] as const))(
  '%s are listed as differences, in the file too',
  async (_, group) => {
    const { differences, yaml } = await liar(...names(group))
    const comments = yaml.replaceAll('\n#   ', ' ')
    for (const [name, said] of group) {
      const found = differences.filter(each => said.test(each))
      expect(found, `${name}: ${differences.join('\n')}`).not.toEqual([])
      for (const each of found) expect(comments).toContain(`# - ${each}`)
    }
  },
)

test('a broken promise with a value is written and marked, so that the user decides', async () => {
  const { yaml } = await liar('failed-item-in-full')
  expect(yaml).toMatch(/# DIFFERS FROM THE DOCUMENT: .*\n( +#.*\n)* +errorItemCredits: 20\n/)
})

test('a clause that every response breaks is no longer promised, and one that some break still is', async () => {
  const never = parseProfile((await liar('no-request-id')).yaml, 'x')
  expect(notPromised(never).filter(id => !isExtra(id))).toEqual(['rpc.request-id'])
  const sometimes = parseProfile((await liar('no-ray-on-errors')).yaml, 'x')
  expect(notPromised(sometimes).filter(id => !isExtra(id))).toEqual([])
})

test.each([
  ['total-without-prompt', 'chat.usage.sum'],
  ['stream-as-json', 'chat.stream.content-type'],
])('another server contradicts itself with %s, so a run fails on it', async (name, clause) => {
  const lies = told(name)
  const lesson = await learnFrom({ lies, over: foreign })
  const profile = parseProfile(lesson.yaml, 'x')
  expect(lesson.differences).toContainEqual(expect.stringContaining(clause))
  expect(notPromised(profile)).not.toContain(clause)
  const scenario = firstScenario(lesson, { tierPerMinute: null, budgetUsd: null })
  const { report } = await virtualRun({
    scenario: scenario.replace('profile: profile.yaml\n', ''),
    lies,
    contract: profile,
  })
  expect(report.findings.map(each => each.clause)).toContain(clause)
})

test('a choice of another server without an index is mentioned', async () => {
  const withoutIndex = setFields(({ choices }) =>
    Array.isArray(choices) ? { choices: choices.map(choice => ({ ...choice, index: undefined })) } : {},
  )
  const lies = [lie('no-index', 'A choice has no index.', changeReplies(isAny, withoutIndex))]
  const { yaml, differences } = await learnFrom({ lies, over: foreign })
  const profile = parseProfile(yaml, 'x')
  expect(differences).toContainEqual(expect.stringContaining('chat.choice: a choice has no index'))
  expect(profile.chat.choiceIndex).toBe('optional')
  expect(notPromised(profile)).not.toContain('chat.choice')
})

describe('the public name of a service that wallets sign in to', () => {
  const target = 'http://127.0.0.1:8402/api/v1'
  const { wallets } = documentedContract
  const offering = (domains: readonly string[]) =>
    contractSchema.parse({
      ...documentedContract,
      auth: { ...documentedContract.auth, noKey: [402] },
      wallets: { ...wallets, signIn: { ...wallets.signIn, domains } },
    })

  test('is learned from its offer if the target has another address', async () => {
    const { yaml, differences } = await learnFrom({ contract: offering(['api.example.com']), target })
    const { signIn } = parseProfile(yaml, 'x').wallets
    expect([signIn.domains, differences]).toEqual([['api.example.com'], []])
  })

  test('is not written if it is the address of the target', async () => {
    const { yaml } = await learnFrom({ contract: offering(['127.0.0.1:8402']), target })
    expect(yaml).not.toContain('signIn')
  })
})
