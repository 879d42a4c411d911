import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Contract } from '../../src/contract/contract.ts'
import { publishedLimit } from '../../src/contract/limits.ts'
import { parseProfile } from '../../src/contract/profile.ts'
import { pico } from '../../src/lib/money.ts'
import { drawProfile } from '../support/drawn-profile.ts'
import { learnFrom, type Learned } from '../support/learn-from.ts'
import { virtualRun } from '../support/virtual-run.ts'

void publishedLimit

/** Everything that `learn` may find out, by the name under which it would declare it unknown. */
function learnable({ accounts, models, chat, rpc, limits, errors, idempotency, billing, headerPrefix, auth }: Contract): Readonly<Record<string, unknown>> {
  const ofModel = ({ id, name, tier, maxCompletionTokens, logprobs, lifecycle, usdPerMillion }: Contract['models'][number]) => [
    [`models ${id}`, { name, maxCompletionTokens, logprobs, lifecycle, price: usdPerMillion && Object.values(usdPerMillion).map(each => each && String(pico(each))) }] as const,
    [`limits of ${id}`, tier && accounts.default[tier]] as const,
  ]
  return {
    headerPrefix,
    'auth.noKey': auth.noKey.includes(401),
    ids: models.map(({ id }) => id),
    ...Object.fromEntries(models.flatMap(ofModel)),
    'chat.wrongMediaTypeStatus': chat.wrongMediaTypeStatus,
    'chat.unknownMembers': chat.unknownMembers,
    'chat.compression': chat.compression,
    'chat.stream': chat.stream,
    'rpc.requestsPerMinute': rpc.requestsPerMinute,
    'rpc.batchLimit': rpc.batchLimit,
    'rpc.multipliers': rpc.multipliers,
    'rpc.errorItemCredits': rpc.errorItemCredits,
    'rpc.singleErrorIsDiscounted': rpc.singleErrorIsDiscounted === true,
    'rpc.usdPerCredit': String(pico(rpc.usdPerCredit)),
    'rpc.costDecimals': rpc.costDecimals,
    ...Object.fromEntries(Object.entries(rpc.networks).map(([slug, network]) => [`rpc.networks.${slug}`, network])),
    'idempotency.badKey': idempotency.badKey,
    'limits.requestsReset': limits.requestsReset,
    'limits.tokensReset': limits.tokensReset,
    'limits.tokenHeaders': limits.tokenHeaders,
    'errors.insufficientBalanceCode': errors.insufficientBalanceCode,
    'billing.balanceHeaders': billing.balanceHeaders,
  }
}

const declared = ({ findings }: Learned): string =>
  findings.flatMap(finding => (finding.kind === 'unknown' ? finding.path : [])).join('\n')

const isDeclared = (unknown: string, name: string): boolean =>
  unknown.split('\n').some(path => path === name || path.includes(` ${name.replace('rpc.networks.', '')},`) || path.endsWith(` ${name.replace('rpc.networks.', '')}`))

/** The smoke scenario with short stages. */
const smoke = readFileSync('scenarios/smoke.yaml', 'utf8')
  .replace(/^budget:.*$/m, 'budget: { usd: 50 }')
  .replace('duration: 16s', 'duration: 4s')
void smoke

const seeds = Array.from({ length: 200 }, (_, index) => index + 1)

describe('a drawn profile is learned, or what is not known is declared', () => {
  test.each(seeds)('seed %i', async seed => {
    const drawn = drawProfile(seed)
    const learned = await learnFrom({ contract: drawn, budgetUsd: '0.5' })
    expect(learned.nothing).toBe(null)
    expect(learned.replies.length).toBeLessThanOrEqual(60)
    expect(learned.spentPico).toBeLessThanOrEqual(pico('0.5'))
    expect(learned.replies.filter(({ status }) => status === 429)).toEqual([])
    const contract = parseProfile(learned.yaml, 'learned.yaml')
    const [expected, got] = [learnable(drawn), learnable(contract)]
    const unknown = declared(learned)
    const wrong = Object.keys(expected).filter(
      name => JSON.stringify(got[name]) !== JSON.stringify(expected[name]) && !isDeclared(unknown, name),
    )
    expect(wrong.map(name => `${name}: drew ${JSON.stringify(expected[name])}, learned ${JSON.stringify(got[name])}`)).toEqual([])
  })
})
void virtualRun
