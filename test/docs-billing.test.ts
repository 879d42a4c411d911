import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { methodTier } from '../src/contract/contract.ts'
import { documentedContract } from '../src/contract/documented.ts'
import { discrepancyKinds } from '../src/judge/audits/audit.ts'
import { createChecks } from '../src/judge/checks/checks.ts'
import { createFindingLog } from '../src/judge/findings/findings.ts'
import { formatPico, pico, roundPico } from '../src/lib/money.ts'
import type { ObservedResponse } from '../src/observation/observation.ts'
import type { RpcItem } from '../src/observation/requests/rpc.ts'
import { listPricePico } from '../src/service/chat/completion.ts'
import { judgeStory } from './support/ledger-story.ts'
import { type Row, tableUnder } from './support/markdown.ts'
import { anObservation } from './unit/judge/metrics/fixtures.ts'
import { conversation, item, textOf } from './unit/service/conversation.ts'

const markdown = readFileSync('docs/billing.md', 'utf8')
const { rpc, chat, billing, models, headerPrefix } = documentedContract
const price = pico(rpc.usdPerCredit)
const credits = `${headerPrefix}rpc-credits`
const cost = `${headerPrefix}rpc-cost-usd`

/** `eth_call × 2, eth_getBalance fails`. */
const itemsIn = (text: string): readonly RpcItem[] =>
  text
    .split(', ')
    .flatMap(each => {
      const [, method = '', fails, times = '1'] = /^(\w+)( fails)?(?: × (\d+))?$/.exec(each) ?? []
      return Array.from({ length: Number(times) }, () => ({ method, failing: fails !== undefined }))
    })
    .map((each, index) => ({ ...each, id: index + 1 }))

const bodyOf = (items: readonly RpcItem[]) =>
  items.map(({ id, method, failing }) => item(method, id, failing ? ['invalid'] : []))

function creditsByContract(network: string, items: readonly RpcItem[]): number {
  const base = rpc.networks[network]?.baseCredits ?? 0
  return items.reduce((sum, { method, failing }) => {
    const tier = methodTier(documentedContract, network, method)
    return sum + (failing ? rpc.errorItemCredits : base * (tier === null ? Number.NaN : rpc.multipliers[tier]))
  }, 0)
}

/** The clauses that the checks say are broken by an answer to these items. */
function failedBy(
  network: string,
  items: readonly RpcItem[],
  batch: boolean,
  response: ObservedResponse,
): readonly string[] {
  const findingLog = createFindingLog()
  const request = { kind: 'rpc', network, batch, items, replay: null } as const
  createChecks(documentedContract, findingLog)(anObservation({ request, response }))
  return findingLog.findings().map(({ clause }) => clause)
}

const responseTo = (network: string, items: readonly RpcItem[], batch: boolean): ObservedResponse => {
  const body = bodyOf(items)
  const reply = conversation().rpc(batch ? body : body[0], { network })
  const value: unknown = JSON.parse(textOf(reply))
  return { status: reply.status, headers: reply.headers, bytes: 0, body: { kind: 'json', value, digest: null } }
}

/** Rows of a table with a title made of some of their cells. */
const titled = (rows: readonly Row[], ...columns: readonly string[]): readonly (readonly [string, Row])[] =>
  rows.map(row => [columns.map(column => row[column] || 'nothing').join(' | '), row])

describe('the price of RPC requests', () => {
  const single = titled(tableUnder(markdown, 'Credits of a single call'), 'Network', 'Call', 'Credits')
  const batches = titled(tableUnder(markdown, 'Credits of a batch'), 'Network', 'Items', 'Credits')

  test.each([...single, ...batches])('is as the document says: %s', (_, row) => {
    const { Network = '', Call, Items = Call ?? '' } = row
    const batch = Call === undefined
    const items = itemsIn(Items)
    const response = responseTo(Network, items, batch)
    expect(row.Credits).toBe(String(creditsByContract(Network, items)))
    expect(row.USD).toBe(formatPico(BigInt(row.Credits ?? 0) * price))
    expect(row['Cost header']).toBe(roundPico(pico(row.USD ?? ''), rpc.costDecimals))
    expect([response.headers[credits], response.headers[cost]]).toEqual([row.Credits, row['Cost header']])
    expect(failedBy(Network, items, batch, response)).toEqual([])
  })

  test('a failed single call is accepted at both prices and at no third', () => {
    const items = itemsIn('eth_call fails')
    const response = responseTo('ethereum-mainnet', items, false)
    const at = (amount: bigint) => ({
      ...response,
      headers: { ...response.headers, [credits]: String(amount), [cost]: formatPico(amount * price) },
    })
    const failed = (amount: bigint) => failedBy('ethereum-mainnet', items, false, at(amount))
    expect([failed(20n), failed(5n), failed(10n)]).toEqual([[], [], ['rpc.credits.amount']])
  })

  test('an error in the price of failures is told apart from one in the rest', () => {
    const items = itemsIn('eth_call, eth_call fails')
    const response = responseTo('ethereum-mainnet', items, true)
    const at = (amount: bigint) => ({
      ...response,
      headers: { ...response.headers, [credits]: String(amount), [cost]: formatPico(amount * price) },
    })
    expect(failedBy('ethereum-mainnet', items, true, at(40n))).toEqual(['rpc.batch.error-price'])
    expect(failedBy('ethereum-mainnet', items, true, at(45n))).toEqual(['rpc.credits.amount'])
  })
})

const headers = titled(tableUnder(markdown, 'What a cost header may say'), 'Credits', 'Accepted from', 'To')

test.each(headers)('a cost header may say as much, and not a pico more or less: %s', (_, row) => {
  const amount = BigInt(row.Credits ?? 0)
  const exact = amount * price
  const items = Array.from({ length: 3 }, (_, index) => ({ id: index, method: 'eth_call', failing: false }))
  const response = responseTo('ethereum-mainnet', items, true)
  const hasFailed = (shown: bigint) => {
    const headers = { ...response.headers, [credits]: String(amount), [cost]: formatPico(shown) }
    return failedBy('ethereum-mainnet', items, true, { ...response, headers }).includes('rpc.cost.amount')
  }
  expect(row.Exact).toBe(formatPico(exact))
  expect(row.Header).toBe(roundPico(exact, rpc.costDecimals))
  const [from, to] = [pico(row['Accepted from'] ?? ''), pico(row.To ?? '')]
  expect([from - 1n, from, to, to + 1n].map(hasFailed)).toEqual([true, false, false, true])
})

const completions = titled(tableUnder(markdown, 'Cost of a completion'), 'Model', 'USD', 'Accepted from', 'To')

test.each(completions)('a completion may cost as much, and not a pico more or less: %s', (_, row) => {
  const usage = { prompt_tokens: Number(row['Prompt tokens']), completion_tokens: Number(row['Completion tokens']) }
  const list = models.find(({ id }) => id === row.Model)?.usdPerMillion ?? {
    input: '0',
    output: '0',
    cacheInput: null,
    cacheWrite: null,
  }
  const expected = listPricePico(usage, list)
  const hasFailed = (usd: bigint) => {
    const findingLog = createFindingLog()
    const { prompt_tokens: promptTokens } = usage
    const request = {
      kind: 'chat',
      model: row.Model ?? '',
      modelTier: 'S',
      stream: false,
      promptTokens,
      maxCompletionTokens: 999,
      options: null,
    } as const
    const value = {
      usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens },
      cost: { usd: Number(formatPico(usd)), diem: 0 },
    }
    const response: ObservedResponse = {
      status: 200,
      headers: {},
      bytes: 0,
      body: { kind: 'json', value, digest: null },
    }
    createChecks(documentedContract, findingLog)(anObservation({ request, response }))
    return findingLog.findings().some(({ clause }) => clause === 'chat.cost.amount')
  }
  expect(row.USD).toBe(formatPico(expected))
  const [from, to] = [pico(row['Accepted from'] ?? ''), pico(row.To ?? '')]
  expect([from - 1n, from, to, to + 1n].map(hasFailed)).toEqual([true, false, false, true])
})

test('the text states the tolerances of the contract', () => {
  expect([rpc.priceTolerance, rpc.costDecimals, chat.costTolerance, billing.settleMs]).toEqual([0.005, 8, 1e-6, 1000])
  expect([rpc.usdPerCredit, billing.balanceResolutionUsd, rpc.errorItemCredits]).toEqual([
    '0.000000625',
    '0.00000001',
    5,
  ])
})

test('replays go as the table says', () => {
  const { rpc: ask, ask: get } = conversation()
  const body = bodyOf(itemsIn('eth_call, eth_call fails'))
  const send = (step: string, caller: string) => {
    const key = `ref_default_${caller}`
    if (step === 'balance check') return get({ method: 'GET', path: documentedContract.paths.rateLimits, key })
    return ask(step === 'conflict' ? body.slice(0, 1) : body, { key, headers: { 'idempotency-key': 'k' } })
  }
  const rows = tableUnder(markdown, 'Replays')
  const seen = rows.map(({ Step = '', Caller = '' }) => {
    const { status, headers } = send(Step, Caller)
    const said = [headers['idempotent-replayed'], headers[credits], headers[`${headerPrefix}balance-usd`]]
    return [Step, Caller, String(status), ...said.map(value => value ?? '')]
  })
  expect(seen).toEqual(rows.map(row => Object.values(row)))
})

describe('the ledger', () => {
  /** A story has one word for each kind of step. */
  const stepsOf = (cell: string) => cell.replaceAll('balance check', 'statement')
  const races = tableUnder(markdown, 'The ledger')
  test.each(titled(races, 'Shown in the race', 'Shown at the end', 'Finding'))('judges a race: %s', (_, row) => {
    const balances = ['10', '10', row['Shown in the race'] ?? '', row['Shown at the end'] ?? '']
    const { failed } = judgeStory({ steps: 'statement; call 0.0000125 & call 0.0000125; statement', balances })
    expect(failed.join()).toBe(row.Finding)
  })

  const stories = tableUnder(markdown, 'Discrepancies')
  const judge = (row: Row) =>
    judgeStory({ steps: stepsOf(row.Steps ?? ''), balances: row['Balances shown']?.split(', ') ?? [] })
  const discrepant = stories.filter(({ Kind }) => Kind !== undefined)

  test.each(titled(discrepant, 'Kind', 'Steps', 'Balances shown'))('names a difference: %s', (_, row) => {
    const { discrepancies } = judge(row).billing
    expect(discrepancies.map(({ kind, amountUsd }) => [kind, amountUsd])).toEqual([[row.Kind, row.Difference]])
  })

  const consistent = stories.filter(({ Kind }) => Kind === undefined)
  test.each(titled(consistent, 'Finding', 'Steps', 'Balances shown'))('finds no difference: %s', (_, row) => {
    const { failed, billing } = judge(row)
    expect(failed.join()).toBe(row.Finding)
    expect(billing.discrepancies).toEqual([])
  })

  const ofWallets = tableUnder(markdown, 'The credit of a wallet')
  test.each(titled(ofWallets, 'Finding', 'Steps', 'Balances shown'))('judges a wallet: %s', (_, row) => {
    const balances = row['Balances shown']?.split(', ') ?? []
    expect(judgeStory({ steps: stepsOf(row.Steps ?? ''), balances, isWallet: true }).failed.join()).toBe(row.Finding)
  })

  test('has a story of every kind but phantom, of which the text says why there is none', () => {
    // The page about hang-ups, and the table of payments, tell the others.
    const elsewhere = ['phantom', 'overcredited', 'undercredited', 'hang-up-billed', 'hang-up-unbilled']
    const kinds = new Set([...discrepant.map(({ Kind }) => Kind), ...elsewhere])
    expect([...kinds].toSorted()).toEqual(discrepancyKinds.toSorted())
    const idle = { steps: 'statement; statement', balances: ['10.000', '9.990'] }
    expect(judgeStory(idle).billing.discrepancies.map(({ kind }) => kind)).toEqual(['billed-for-failure'])
  })
})
