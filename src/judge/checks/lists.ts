import type { ClausesOf } from '../../contract/clauses.ts'
import type { AccountTier, Contract } from '../../contract/contract.ts'
import { quote } from '../../lib/format.ts'
import { ownMember, plainNumber, plainText, toObject } from '../../lib/json.ts'
import type { ListDescriptor } from '../../observation/requests/lists.ts'
import { is2xx, jsonObject } from '../../observation/response.ts'
import { type Check, checkBodyType, expectFor } from './check.ts'

type Body = Readonly<Record<string, unknown>> | null

type ListRule = {
  readonly clause: ClausesOf<'lists'>
  /** Whether it has the public layout, as far as it can be told. The document shows none of these payloads. */
  readonly isReadable: (body: Body) => boolean
  /** What is wrong with it; null: nothing. */
  readonly wrong: (body: Body, contract: Contract, accountTier: AccountTier) => string | null
}

const rules: Readonly<Record<Exclude<ListDescriptor['kind'], 'balance'>, ListRule>> = {
  networks: {
    clause: 'catalogue.networks',
    isReadable: body => isTextList(body?.networks),
    wrong: (body, contract) => wrongNetworks(body?.networks, contract),
  },
  models: {
    clause: 'catalogue.models',
    isReadable: body => Array.isArray(body?.data) && body.data.every(model => typeof toObject(model)?.id === 'string'),
    wrong: wrongModels,
  },
  'rate-limits': {
    clause: 'catalogue.rate-limits',
    isReadable: body => {
      const entries = toObject(body?.data)?.rateLimits
      const isEntry = (entry: unknown) => Array.isArray(toObject(entry)?.rateLimits)
      return Array.isArray(entries) && entries.length > 0 && entries.every(isEntry)
    },
    wrong: (body, contract, accountTier) => wrongLimits(toObject(body?.data)?.rateLimits, accountTier, contract),
  },
  'rate-limit-logs': {
    clause: 'logs.layout',
    isReadable: body => body?.object === 'list' && Array.isArray(body.data) && body.data.every(isRow),
    wrong: wrongLog,
  },
}

/** Checks the lists of networks, models, the caller's rate limits, and the requests that they rejected. */
export const checkLists: Check<'lists', ListDescriptor> = (observation, contract, reporter) => {
  const { response, request, id, accountTier } = observation
  // The ledger reads it.
  if (request.kind === 'balance') return
  if (response === null || response.status >= 500 || unrelated.includes(response.status)) return
  checkBodyType(observation, expectFor(reporter, id))
  const isSuccess = is2xx(response.status)
  const body = isSuccess ? jsonObject(response) : null
  const { clause, isReadable, wrong: wrongIn } = rules[request.kind]
  if (isSuccess && contract.lists.layout === null && !isReadable(body)) return reporter.unjudged(clause, unknownLayout)
  const wrong = wrongIn(body, contract, accountTier)
  const notFound = isSuccess ? '' : ` (the status is ${response.status}, expected 200)`
  expectFor(reporter, id)(clause, wrong === null, () => `${wrong}${notFound}`)
}

const unknownLayout = { text: 'the list has an unknown layout; name it in the profile as lists.layout', clause: null }

/** Statuses about the caller, its rate or its balance, and not about the list. */
const unrelated: readonly number[] = [401, 402, 403, 429]

const isRow = (row: unknown): boolean =>
  logTexts.every(name => typeof toObject(row)?.[name] === 'string') && isTime(toObject(row)?.timestamp)

function wrongNetworks(slugs: unknown, { lists }: Contract): string | null {
  if (!isTextList(slugs)) return `networks is ${quote(slugs)}, expected a list of slugs`
  if (lists.layout === null) return null
  const unordered = slugs.findIndex((slug, index) => index > 0 && slug <= (slugs[index - 1] ?? ''))
  if (unordered < 0) return null
  return `${quote(slugs[unordered])} comes after ${quote(slugs[unordered - 1])}, expected a sorted list without duplicates`
}

function wrongModels(body: Body, contract: Contract): string | null {
  if (contract.lists.layout !== null && body?.object !== 'list')
    return `object is ${quote(body?.object)}, expected "list"`
  if (!Array.isArray(body?.data)) return `data is ${quote(body?.data)}, expected a list`
  const nameless = body.data.find(model => typeof toObject(model)?.id !== 'string')
  return nameless === undefined ? null : `a model is ${quote(nameless)}, expected it to have an id`
}

function wrongLimits(entries: unknown, accountTier: AccountTier, contract: Contract): string | null {
  if (!Array.isArray(entries) || entries.length === 0) return `rateLimits is ${quote(entries)}, expected a list`
  for (const entry of entries.map(toObject)) {
    const limits = entry?.rateLimits
    if (!Array.isArray(limits)) return `an entry of rateLimits is ${quote(entry)}, expected it to have a list of limits`
    const none = limits.map(toObject).find(limit => isPerMinute(limit?.type) && plainNumber(limit?.amount) < 1)
    if (none !== undefined) return `${quote(entry?.apiModelId)} has ${quote(none)}, expected an amount of at least 1`
    const model = contract.models.find(known => known.id === entry?.apiModelId)
    // What the target publishes is canonical, so it is compared with the limits in responses instead.
    if (!model?.tier || contract.limits.judgedBy === 'target') continue
    const { requestsPerMinute, tokensPerMinute } = contract.accounts[accountTier][model.tier]
    const expected: Readonly<Record<string, number>> = { RPM: requestsPerMinute, TPM: tokensPerMinute }
    for (const limit of limits.map(toObject)) {
      const amount = ownMember(expected, plainText(limit?.type))
      if (amount !== null && plainNumber(limit?.amount) !== amount)
        return `${model.id} has ${quote(limit)}, expected ${amount} (${accountTier} ${model.tier})`
    }
  }
  return null
}

const isPerMinute = (type: unknown): boolean => type === 'RPM' || type === 'TPM'

const isTextList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every(item => typeof item === 'string' && item !== '')

const logTexts = ['apiKeyId', 'modelId', 'rateLimitTier', 'rateLimitType']

function wrongLog(body: Body, { limitLogs, lists }: Contract): string | null {
  if (body?.object !== 'list') return `object is ${quote(body?.object)}, expected "list"`
  const rows = body.data
  if (!Array.isArray(rows)) return `data is ${quote(rows)}, expected a list`
  if (lists.layout !== null && rows.length > limitLogs.rows)
    return `there are ${rows.length} rows, expected at most ${limitLogs.rows}`
  for (const row of rows.map(toObject)) {
    const invalid = logTexts.find(name => typeof row?.[name] !== 'string')
    if (invalid !== undefined) return `a row has ${quote(row?.[invalid])} as ${invalid}, expected a text`
    if (!isTime(row?.timestamp)) return `a row has ${quote(row?.timestamp)} as timestamp, expected a time`
  }
  return null
}

const isTime = (value: unknown): boolean =>
  (typeof value === 'string' && !Number.isNaN(Date.parse(value))) || (typeof value === 'number' && value > 0)
