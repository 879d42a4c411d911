import { walletProbes } from '../contract/probes/wallets.ts'
import { isObject, type JsonObject } from '../lib/json.ts'
import { cent, formatPico, pico } from '../lib/money.ts'
import type { DraftPlan } from '../library/draft.ts'
import { keyCallers, type Plan } from '../plan/plan.ts'
import { membersOf } from '../scenario/load-scenario.ts'
import { byCost, type PricedAddition, passingCalls, pauseOf, plainCalls, priced, stageName } from './additions.ts'

/** What a wallet does, and clauses that it may show, by their first parts. */
type Visit = {
  readonly name: string
  /** Names in the order in which they are sent. */
  readonly calls: readonly string[]
  readonly about: readonly string[]
  /** By default one. */
  readonly wallets?: number
}

/** How many wallets a scenario without any gets: some lies are about the second one. */
const addedWallets = 2
/** Wallets on it ask a node before they pay, which has no virtual time. */
const slowRail = 'solana'

/** What wallets can do that costs at most a few payments, the cheapest first. */
export async function addingWallets(
  draft: DraftPlan,
  singles: readonly PricedAddition[],
): Promise<readonly PricedAddition[]> {
  const caller = walletCaller(draft)
  if (caller === null) return []
  const passing = passingCalls(plainCalls(singles))
  const cheapestOf = (isSuch: (call: Plan['calls'][string]) => boolean) =>
    passing.find(({ name, calls }) => calls[name] !== undefined && isSuch(calls[name])) ?? []
  const paidFor = [cheapestOf(({ kind }) => kind === 'chat'), cheapestOf(({ kind }) => kind === 'rpc')].flat()
  const embeddings = [cheapestOf(call => call.kind === 'resource' && call.resource === 'embeddings')].flat()
  const served = [...paidFor, ...embeddings]
  const calls: JsonObject = {
    ...Object.assign({}, ...served.map(({ addition }) => addition.calls)),
    ...walletCalls(draft),
  }
  const refused = ['wallet-asks', ...namesOf(paidFor)]
  const all: PricedAddition[] = []
  for (const { name, calls: sent, about, wallets = 1 } of visits(namesOf(paidFor), namesOf(embeddings))) {
    const used = Object.fromEntries(Object.entries(calls).filter(([call]) => sent.includes(call)))
    if (wallets > caller.wallets || (anyPays(used) && !caller.canPay)) continue
    const who = { 'first-caller': caller.first, callers: wallets }
    const stage = { name: stageName(draft, name), shape: 'sequence', duration: '1s', ...who, calls: sent }
    const pause = { name: stageName(draft, `${name}-2`), ...pauseOf(2_000) }
    const { replaces } = caller
    const addition = {
      calls: used,
      stages: [stage, pause],
      thresholds: answeredIn(
        stage.name,
        refused.filter(call => sent.includes(call) && !sent.includes(credit)),
      ),
      ...(replaces !== null && { replaces }),
    }
    const candidate = await priced(draft, addition)
    if (candidate !== null) all.push({ ...candidate, about })
  }
  return all.toSorted(byCost)
}

/** The wallets of the scenario, or those that it would have; null: there can be none. */
function walletCaller({ plan, contract, named: { written, file } }: DraftPlan) {
  const { callers } = plan
  const first = keyCallers(callers)
  if (callers.wallets !== null) {
    const { chains } = callers.wallets
    return { first, wallets: chains.length, canPay: !chains.includes(slowRail), replaces: null }
  }
  const chain = Object.keys(contract.wallets.rails).find(rail => rail !== slowRail)
  const members = membersOf(written, file)
  const own = Array.isArray(members.stages) ? members.stages.filter(isObject) : []
  // A stage that is recorded has no number of callers.
  if (chain === undefined || own.some(({ shape }) => shape === 'recorded')) return null
  // Without a number, a stage is of all callers, so wallets would take part.
  const stages = own
    .filter(stage => stage.callers === undefined && stage.shape !== 'pause')
    .map(stage => ({ ...stage, callers: first - Number(stage['first-caller'] ?? 0) }))
  const replaced = { ...(isObject(members.callers) && members.callers), count: first, wallets: addedWallets, chain }
  return { first, wallets: addedWallets, canPay: true, replaces: { callers: replaced, stages } }
}

/** Responses that no clause checks, and refusals alone, would leave a run without a verdict. */
const answeredIn = (stage: string, refused: readonly string[]) =>
  refused.length === 0
    ? [{ expect: `status(200) of ${credit} in ${stage} > 0`, why: 'A wallet must be able to read its credit.' }]
    : refused.map(call => ({
        expect: `status(402) of ${call} in ${stage} > 0`,
        why: 'A wallet without credit is told how to pay.',
      }))

/** Whether one of these calls pays. */
export const anyPays = (calls: JsonObject): boolean =>
  Object.values(calls).some(call => isObject(call) && call.kind === 'top-up' && call.pay === true)

const walletCalls = ({ contract: { wallets } }: DraftPlan): JsonObject => {
  const { minimumUsd } = wallets.topUp
  const pay = { kind: 'top-up', pay: true, usd: Number(minimumUsd) }
  const less = pico(minimumUsd) > cent ? Number(formatPico(pico(minimumUsd) - cent)) : 0
  return {
    'wallet-asks': { kind: 'top-up' },
    'wallet-credit': { kind: 'wallet-balance' },
    'wallet-pays': pay,
    'wallet-pays-again': { ...pay, duplicates: 1 },
    'wallet-pays-at-once': { ...pay, duplicates: 3, concurrent: true },
    'wallet-pays-less': { ...pay, usd: less },
    ...Object.fromEntries(flaws.map(invalid => [`wallet-pays-${invalid}`, { ...pay, invalid }])),
  }
}

const flaws = ['other-resource', 'tampered', 'above-signed', 'other-chain'] as const

const credit = 'wallet-credit'
const between = (calls: readonly string[]) => [credit, ...calls.flatMap(call => [call, credit])]

const namesOf = (calls: readonly { readonly name: string }[]) => calls.map(({ name }) => name)

function visits(served: readonly string[], embeddings: readonly string[]): readonly Visit[] {
  // Of eight sign-ins of a wallet, one is in the legacy header.
  const often = Array.from({ length: Math.ceil(9 / Math.max(1, served.length)) }, () => served).flat()
  const refused = ['wallet.top-up.least', 'wallet.top-up.invalid', 'wallet.top-up.refusal']
  const paid = [
    'wallet.top-up.credit',
    'wallet.top-up.once',
    'wallet.top-up.legacy-headers',
    'wallet.top-up.refusal',
    'wallet.top-up.result',
  ]
  const free = ['wallet.discovery', 'wallet.inference', 'wallet.rpc', 'wallet.legacy-header', 'wallet.evm']
  const asked = [...free, 'wallet.no-account', 'wallet.insufficient', 'wallet.payment-required', 'wallet.top-up.offer']
  const charged = ['wallet.billing', 'wallet.charge', 'wallet.balance', 'wallet.top-up.credit', 'wallet.top-up.result']
  return [
    { name: 'wallet-sign-ins', calls: ['wallet-asks', ...often], about: [...asked, 'wallet.top-up.rails'], wallets: 2 },
    { name: 'wallet-embeddings', calls: ['wallet-asks', ...embeddings], about: ['wallet.inference'] },
    {
      name: 'wallet-refusals',
      calls: [credit, ...Object.keys(walletProbes)],
      about: ['wallet.failed', 'wallet.charge', 'wallet.balance'],
    },
    { name: 'wallet-payment', calls: between(['wallet-pays', ...served]), about: charged },
    { name: 'wallet-payments-of-two', calls: between(['wallet-pays', ...served]), about: charged, wallets: 2 },
    { name: 'wallet-pays-again', calls: between(['wallet-pays-again']), about: paid },
    { name: 'wallet-pays-at-once', calls: between(['wallet-pays-at-once']), about: paid },
    { name: 'wallet-pays-thrice', calls: between(['wallet-pays', 'wallet-pays', 'wallet-pays']), about: paid },
    ...['less', ...flaws].map(flaw => {
      const name = `wallet-pays-${flaw}`
      return { name, calls: between([name]), about: refused }
    }),
  ]
}
