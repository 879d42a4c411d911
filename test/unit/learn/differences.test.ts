import { expect, test } from 'vitest'
import { parseProfile } from '../../../src/contract/profile.ts'
import { notPromised } from '../../../src/contract/promises.ts'
import { lieByName } from '../../../src/service/lies/lies.ts'
import { learnFrom } from '../../support/learn-from.ts'

const liar = (name: string) => {
  const lie = lieByName(name)
  if (lie === undefined) throw new Error(`no lie named ${name}`)
  return learnFrom({ lies: [lie] })
}

test('the documented service differs in nothing', async () => {
  const { differences, yaml } = await learnFrom()
  expect(differences).toEqual([])
  expect(yaml).not.toContain('DIFFERS')
  expect(parseProfile(yaml, 'x').promises).toEqual({ only: null, except: [] })
})

/** A lie, and what `learn` says about it. */
const lies: readonly (readonly [lie: string, said: RegExp])[] = [
  ['no-ray-on-errors', /^header\.cf-ray: \d+ of \d+ responses have no cf-ray/],
  ['no-version-on-errors', /^header\.version: \d+ of \d+ responses/],
  ['balance-remaining-for-keys', /^billing\.balanceRemaining: "anyone", the document says "wallets"/],
  ['any-key-will-do', /^auth\.bearer: a request with a wrong key gets a 200/],
  ['no-key-will-do', /^auth\.missing: a request without credentials is answered/],
  ['no-key-is-400', /^auth\.noKey: \[400\], the document says/],
  ['everything-on-credit', /^error\.402: an account without a balance gets a 200/],
  ['other-code-of-poverty', /^errors\.insufficientBalanceCode: "NO_FUNDS"/],
  ['error-in-html', /^error\.object: an error has no object with a text/],
  ['no-limits-on-rpc', /^limit\.requests\.headers: \d+ of \d+ responses lack/],
  ['reset-as-time-left', /^limit\.requests\.reset: .* no Unix time/],
  ['no-token-reset', /^limits\.tokenHeaders: false, the document says true/],
  ['token-reset-as-unix-time', /^limit\.tokens\.reset: .*Unix seconds/],
  ['limits-of-an-hour', /^catalogue\.rate-limits: the endpoint states 30000 requests/],
  ['wrong-media-type-is-400', /^chat\.wrongMediaTypeStatus: 400, the document says 415/],
  ['any-media-type', /^chat\.media-type: a chat request of text\/plain is accepted/],
  ['never-compressed', /^chat\.compression: "optional", the document says "required"/],
  ['compressed-in-name', /^chat\.compression\.body: its body is not/],
  ['usage-without-prompt', /^chat\.usage: a completion has no usage/],
  ['total-without-prompt', /^chat\.usage\.sum: total_tokens is 16, for 48 \+ 16/],
  ['bound-not-heeded', /^chat\.max-completion-tokens: \d+ tokens were generated, of at most 16/],
  ['cost-ten-fold', /^chat\.cost\.amount: .* is not the listed price/],
  ['negative-cost', /^chat\.cost\.amount: cost is -/],
  ['no-usage', /^chat\.stream\.usage: a stream states no usage/],
  ['no-done', /^chat\.stream\.done: the last event of a stream is no done marker/],
  ['unsupported-is-404', /^rpc\.batch\.rejected: a batch with unsupported methods gets a 404/],
  ['no-allow-list', /^rpc\.unsupported-method: an unsupported method gets a 200/],
  ['first-method-named', /^rpc\.namesEveryMethod: false, the document says true/],
  ['batch-of-fifty', /^rpc\.batchLimit: 50, the document says 100/],
  ['batch-of-any-size', /^rpc\.batch\.limit: the limit is at least 1001/],
  ['failed-batch-is-400', /^rpc\.item-failure\.status: a batch with a failing item gets a 400/],
  ['large-as-advanced', /^rpc\.multipliers\.large: 2, the document says 4/],
  ['failed-item-in-full', /^rpc\.errorItemCredits: 20, the document says 5/],
  ['last-item-unbilled', /^rpc\.credits\.amount: 40 calls of 20 credits cost 780 credits/],
  ['dearer-credits', /^rpc\.usdPerCredit: "0\.0000007", the document says "0\.000000625"/],
  ['cost-of-one-credit-less', /^rpc\.cost\.amount: no price of a credit fits all costs/],
  ['no-request-id', /^rpc\.request-id: an RPC response has no X-Request-ID/],
  ['replay-unmarked', /^missing: replays: a repeated request has no Idempotent-Replayed/],
  ['replay-reformatted', /^rpc\.replay\.body: a replay differs/],
  ['conflict-is-409', /^rpc\.replay\.conflict: a used key with another body gets a 409/],
  ['key-with-dots', /^rpc\.replay\.bad-key: a key with a dot works like a valid one/],
]

test.each(lies)('%s is listed as a difference, in the file too', async (name, said) => {
  const { differences, yaml } = await liar(name)
  const found = differences.filter(each => said.test(each))
  expect(differences.join('\n')).toMatch(new RegExp(said.source, 'm'))
  const comments = yaml.replaceAll('\n#   ', ' ')
  for (const each of found) expect(comments).toContain(`# - ${each}`)
})

test('a broken promise with a value is written and marked, so that the user decides', async () => {
  const { yaml } = await liar('failed-item-in-full')
  expect(yaml).toMatch(/# DIFFERS FROM THE DOCUMENT: .*\n( +#.*\n)* +errorItemCredits: 20\n/)
})

test('a clause that every response breaks is no longer promised, and one that some break still is', async () => {
  const never = parseProfile((await liar('no-request-id')).yaml, 'x')
  expect(notPromised(never)).toEqual(['rpc.request-id'])
  const sometimes = parseProfile((await liar('no-ray-on-errors')).yaml, 'x')
  expect(notPromised(sometimes)).toEqual([])
})
