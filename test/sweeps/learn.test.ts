import { describe, expect, test } from 'vitest'
import type { Contract, Model } from '../../src/contract/contract.ts'
import { parseProfile } from '../../src/contract/profile.ts'
import { pico } from '../../src/lib/money.ts'
import { drawProfile } from '../support/drawn-profile.ts'
import { type Learned, learnFrom } from '../support/learn-from.ts'
import { isNightly, todays } from '../support/nightly.ts'
import { virtualRun } from '../support/virtual-run.ts'

const budgetUsd = '0.5'
const all = Array.from({ length: 200 }, (_, index) => index + 1)
const seeds = todays(all, 8)

/** Every kind of call, at rates that the limits allow, and the refusals whose statuses a profile states. */
const scenario = `
name: learned
question: Does the service follow the profile that was learned from it?
seed: 7
callers: { count: 4 }
calls:
  chat: { kind: chat, stream: true, prompt-tokens: 40, max-completion-tokens: 20 }
  chat-whole: { kind: chat, stream: false, prompt-tokens: 20, max-completion-tokens: 10 }
  rpc:
    kind: rpc-batch
    network: ethereum-mainnet
    methods: { eth_blockNumber: 6, debug_traceTransaction: 2, trace_replayTransaction: 2 }
    size: 5
    failing-items: 1
  single: { kind: rpc, network: zksync-mainnet, failure-ratio: 0.3 }
  replay: { kind: replay, of: rpc, duplicates: 1, conflict-ratio: 0.2 }
  models: { kind: models }
  networks: { kind: networks }
  rate-limits: { kind: rate-limits }
stages:
  - name: steady
    duration: 16s
    shape: poisson
    rate: 50% of tier
    callers: 3
    mix: { chat: 4, chat-whole: 3, rpc: 2, single: 2, replay: 2 }
  - name: refusals
    duration: 3s
    shape: sequence
    first-caller: 3
    calls: [bad-key, wrong-media-type, unlisted-method, unsupported-methods-in-batch, batch-too-long, key-with-a-dot, models, networks, rate-limits]
thresholds:
  - { expect: violations == 0, why: The profile was learned from this service. }
  - { expect: discrepancies == 0, why: Prices were learned from this service. }
`

/** Everything that can be learned, by the name under which it is declared unknown otherwise. */
function learnable(contract: Contract): Readonly<Record<string, unknown>> {
  const { accounts, models, chat, rpc, limits, errors, idempotency, billing, headerPrefix, auth } = contract
  return {
    headerPrefix,
    models: models.map(({ id }) => id),
    ...Object.fromEntries(models.map(model => [`models ${model.id}`, stated(model)])),
    // A tier is only a label. Its limits count.
    ...Object.fromEntries(models.map(({ id, tier }) => [`accounts.default of ${id}`, tier && accounts.default[tier]])),
    'auth.noKey': auth.noKey.includes(401),
    'chat.wrongMediaTypeStatus': chat.wrongMediaTypeStatus,
    'chat.unknownMembers': chat.unknownMembers,
    'chat.compression': chat.compression,
    'chat.stream.chunkObject': chat.stream.chunkObject,
    'chat.stream.doneMarker': chat.stream.doneMarker,
    'rpc.requestsPerMinute': rpc.requestsPerMinute,
    'rpc.batchLimit': rpc.batchLimit,
    'rpc.multipliers.advanced': rpc.multipliers.advanced,
    'rpc.multipliers.large': rpc.multipliers.large,
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

const stated = ({ name, maxCompletionTokens, logprobs, lifecycle, usdPerMillion }: Model) => {
  const prices = usdPerMillion && Object.values(usdPerMillion).map(each => each && String(pico(each)))
  return { name, maxCompletionTokens, logprobs, lifecycle, prices }
}

/** What the profile declares unknown: paths, and slugs of networks that were not asked. */
function declared({ findings }: Learned): ReadonlySet<string> {
  const paths = findings.flatMap(finding => (finding.kind === 'unknown' ? finding.path : []))
  const networks = paths.flatMap(path => (path.startsWith('rpc.networks: ') ? path.split(/[ ,]+/) : []))
  return new Set([...paths, ...networks.map(slug => `rpc.networks.${slug}`)])
}

/** As in a run against a target: a price that its profile does not state is not asserted. */
function withUnknownPrices(contract: Contract, unknown: ReadonlySet<string>): Contract {
  const networks = Object.entries(contract.rpc.networks).map(([slug, network]) => [
    slug,
    unknown.has(`rpc.networks.${slug}`) ? { ...network, baseCredits: null } : network,
  ])
  return { ...contract, rpc: { ...contract.rpc, networks: Object.fromEntries(networks) } }
}

/** How often each value was declared unknown although it was drawn otherwise. */
const untold = new Map<string, number>()

describe('what was drawn is learned, or declared unknown, and the service keeps the learned profile', () => {
  test.each(seeds)('seed %i', async seed => {
    const drawn = drawProfile(seed)
    const learned = await learnFrom({ contract: drawn, budgetUsd })
    expect(learned.replies.length).toBeLessThanOrEqual(60)
    expect(learned.spentPico).toBeLessThanOrEqual(pico(budgetUsd))
    // A limit or the abuse block would show as a 429.
    expect(learned.replies.filter(({ status }) => status === 429)).toEqual([])

    const contract = parseProfile(learned.yaml, 'learned.yaml')
    const [expected, got, unknown] = [learnable(drawn), learnable(contract), declared(learned)]
    const others = Object.keys(expected).filter(name => JSON.stringify(got[name]) !== JSON.stringify(expected[name]))
    for (const name of others) if (unknown.has(name)) untold.set(name, (untold.get(name) ?? 0) + 1)
    const wrong = others.filter(name => !unknown.has(name))
    expect(wrong.map(name => [name, expected[name], got[name]])).toEqual([])

    // Without balances in responses, no judge compares them with the charges.
    const asked = contract.billing.balanceHeaders
      ? scenario
      : scenario.replace(/^ *- \{ expect: discrepancies.*\n/m, '')
    const { report } = await virtualRun({
      scenario: asked,
      contract: withUnknownPrices(contract, unknown),
      serviceContract: drawn,
      seed,
      openingBalanceUsd: '1000',
    })
    expect(report.findings.map(({ clause, message }) => `${clause}: ${message}`)).toEqual([])
    expect(report.billing.discrepancies).toEqual([])
    expect([report.run.ended, report.verdict], report.reasons.join(' | ')).toEqual(['complete', 'pass'])
  })

  test('little of it is unknown', () => {
    const isNetwork = (name: string) => name.startsWith('rpc.networks.')
    const others = [...untold.keys()].filter(name => !isNetwork(name))
    const known = ['chat.compression', 'limits.tokensReset']
    expect(others.filter(name => !known.includes(name))).toEqual([])
    if (isNightly) expect(others.toSorted()).toEqual(known)
    const ofNetworks = [...untold].filter(([name]) => isNetwork(name)).reduce((sum, [, times]) => sum + times, 0)
    expect(ofNetworks).toBeLessThan((isNightly ? 1 : 1.5) * seeds.length)
  })
})
