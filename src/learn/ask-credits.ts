import { documentedContract } from '../contract/documented.ts'
import { familyOf } from '../contract/statements.ts'
import { toObject } from '../lib/json.ts'
import { formatPico, pico } from '../lib/money.ts'
import { is2xx } from '../lib/numbers.ts'
import { creditsIn, rpcAsk, uncharged } from './ask-rpc.ts'
import type { Answer } from './asker.ts'
import { because, cite, type Fact, hasResult, type Known, type Question, unknown, value } from './question.ts'

const { rpc } = documentedContract

const hasPrices = ({ rpc: use }: Known): boolean => use !== null && use.credits !== null

/** A method of each price tier that nodes answer without parameters. */
const tierMethods = { advanced: 'txpool_status', large: 'txpool_content' } as const

/** What the methods of the other price tiers cost, against one of the standard tier. */
export const multipliers: Question = {
  name: 'multipliers',
  calls: 2,
  applies: known => hasPrices(known) && known.rpc?.family === 'evm',
  answer: async ({ rpc: use }, { ask }) => {
    if (use === null || use.credits === null) return { findings: [] }
    const findings: Fact[] = []
    for (const tier of ['advanced', 'large'] as const) {
      const method = tierMethods[tier]
      const reply = await ask(rpcAsk(use, { methods: [[method, 1]] }, 8))
      findings.push(multiplierFact(tier, method, reply, use.credits))
    }
    return { findings }
  },
}

/** A ratio that is not a whole number is not a multiplier. Then the credits are judged by the documented one. */
function multiplierFact(tier: string, method: string, reply: Answer, base: number): Fact {
  const path = ['rpc', 'multipliers', tier] as const
  const { credits } = creditsIn(reply)
  if (!hasResult(reply)) return unknown(path.join('.'), `${cite(reply)}: ${method} has no result`)
  if (credits === null) return unknown(path.join('.'), uncharged(reply))
  const ratio = credits / base
  const evidence = `${credits} credits for ${method}, ${base} for a standard method`
  return Number.isSafeInteger(ratio) && ratio > 0
    ? value(path, ratio, reply, evidence)
    : unknown(path.join('.'), `${cite(reply)}: ${evidence}`)
}

/** What a failing item costs, in a batch and alone. */
export const errorPrices: Question = {
  name: 'prices of errors',
  calls: 2,
  applies: hasPrices,
  answer: async ({ rpc: use }, { ask }) => {
    if (use === null || use.credits === null) return { findings: [] }
    const batch = await ask(rpcAsk(use, { batchSize: 2, failing: 1 }, 3))
    const alone = await ask(rpcAsk(use, { failing: 1 }, 2))
    const item = itemFinding(batch, use.credits)
    return { findings: [item, singleFinding(alone, use.credits, item.kind === 'value' ? Number(item.value) : null)] }
  },
}

function itemFinding(reply: Answer, base: number): Fact {
  const path = ['rpc', 'errorItemCredits'] as const
  const { credits } = creditsIn(reply)
  const items = Array.isArray(reply.body) ? reply.body.map(toObject) : []
  const failed = items.filter(item => item !== null && 'error' in item).length
  if (credits === null) return unknown(path.join('.'), uncharged(reply))
  if (items.length !== 2 || failed !== 1)
    return unknown(path.join('.'), `${cite(reply)}: the batch has no single failing item`)
  const price = credits - base
  // Then the credits are judged by the documented price of an error.
  if (price < 0)
    return unknown(path.join('.'), `${cite(reply)}: ${credits} credits, less than ${base} for its other item`)
  return value(path, price, reply, `${credits} credits for an item of ${base} and a failing one`)
}

function singleFinding(reply: Answer, base: number, itemPrice: number | null): Fact {
  const path = ['rpc', 'singleErrorIsDiscounted'] as const
  const { credits } = creditsIn(reply)
  const isError = is2xx(reply.status) && 'error' in (toObject(reply.body) ?? {})
  if (credits === null) return unknown(path.join('.'), uncharged(reply))
  if (!isError) return unknown(path.join('.'), `${cite(reply)}: the call did not fail`)
  if (base === itemPrice) return unknown(path.join('.'), 'a call and a failing item have the same price')
  if (credits === base)
    return value(path, false, reply, `a failing single call costs ${credits} credits, like any other`)
  if (credits === itemPrice)
    return value(path, true, reply, `a failing single call costs ${credits} credits, like a failing item`)
  return unknown(
    path.join('.'),
    `${cite(reply)}: a failing single call costs ${credits} credits, neither ${base} nor ${itemPrice ?? 'known'}`,
  )
}

/** Enough items for a price of three digits. */
const pricedItems = 40

/** The price of a credit, from a batch whose cost has many digits and from every earlier response. */
export const creditPrice: Question = {
  name: 'price of a credit',
  calls: 1,
  applies: hasPrices,
  answer: async ({ rpc: use, batchLimit }, { ask, replies }) => {
    if (use === null || use.credits === null) return { findings: [] }
    const count = Math.min(pricedItems, batchLimit)
    await ask(rpcAsk(use, { batchSize: count }, count))
    return { findings: priceFindings(replies()) }
  },
}

type Interval = { readonly low: bigint; readonly high: bigint }

/** The prices, in 10⁻¹⁸ dollars per credit, that give a cost after rounding to its decimals. */
const scale = 1_000_000n

function intervalOf(credits: number, cost: string): Interval {
  const decimals = cost.split('.')[1]?.length ?? 0
  const half = 10n ** BigInt(12 - decimals) * (scale / 2n)
  const exact = pico(cost) * scale
  return { low: (exact - half) / BigInt(credits), high: (exact + half) / BigInt(credits) }
}

function priceFindings(replies: readonly Answer[]): readonly Fact[] {
  const path = ['rpc', 'usdPerCredit'] as const
  const stated = replies.flatMap(reply => {
    const { credits, cost } = creditsIn(reply)
    return credits === null || credits === 0 || cost === null
      ? []
      : [{ reply, credits, cost, ...intervalOf(credits, cost) }]
  })
  const widest = stated.toSorted((a, b) => b.credits - a.credits)[0]
  if (widest === undefined) return [unknown(path.join('.'), 'no response states credits and a cost')]
  const decimals = Math.max(...stated.map(({ cost }) => cost.split('.')[1]?.length ?? 0))
  const digits = value(['rpc', 'costDecimals'], decimals, widest.reply, `a cost of ${widest.cost}`)
  const evidence = `$${widest.cost} for ${widest.credits} credits`
  const low = stated.reduce((max, each) => (each.low > max ? each.low : max), 0n)
  const high = stated.reduce((min, each) => (each.high < min ? each.high : min), widest.high)
  if (low * (thousand - tolerance) > high * thousand)
    return [digits, unknown(path.join('.'), `no price of a credit fits all costs; ${evidence}`)]
  const range = low > high ? widest : { low, high }
  const simplest = simplestIn(range.low, range.high)
  if (simplest === null) return [digits, unknown(path.join('.'), `${evidence}: less than 12 decimals show`)]
  const price = isAboutDocumented(range) ? rpc.usdPerCredit : simplest
  const isExact = (range.high - range.low) * 100n <= range.low && price === simplest
  const bounds = `the price is from ${show(range.low)} to ${show(range.high)}`
  const isUsual = price === rpc.usdPerCredit && price !== simplest
  return [
    digits,
    value(path, price, widest.reply, evidence),
    ...(isExact
      ? []
      : [
          unknown(
            path.join('.'),
            isUsual ? `${bounds}, and the document says "about"` : `${bounds}; the cost has ${decimals} decimals`,
          ),
        ]),
  ]
}

const thousand = 1_000n
/** The documented price is "about" this much; in thousandths. */
const tolerance = BigInt(Math.round(rpc.priceTolerance * 1_000))

const isAboutDocumented = ({ low, high }: Interval): boolean => {
  const documented = pico(rpc.usdPerCredit) * scale
  return documented * (thousand + tolerance) >= low * thousand && documented * (thousand - tolerance) <= high * thousand
}

const show = (atto: bigint): string => formatPico(atto / scale)

/** The decimal with the fewest digits in the interval; null if it needs more than 12 decimals, or is zero. */
function simplestIn(low: bigint, high: bigint): string | null {
  for (let decimals = 0; decimals <= 12; decimals++) {
    const unit = 10n ** BigInt(12 - decimals) * scale
    const first = ((low + unit - 1n) / unit) * unit
    const middle = ((low + high) / 2n / unit) * unit
    const candidate = middle >= first && middle <= high ? middle : first
    if (candidate > 0n && candidate <= high) return formatPico(candidate / scale)
  }
  return null
}

/** The base credits of the other networks, as far as calls and budget reach. */
export const baseCredits: Question = {
  name: 'base credits',
  calls: Number.POSITIVE_INFINITY,
  applies: hasPrices,
  answer: async ({ rpc: use, networks }, { ask, callsLeft }) => {
    if (use === null || use.credits === null) return { findings: [] }
    const findings: Fact[] = []
    const first = networkFindings(use.network, use.credits, 'the first single call')
    // Networks that the document does not price first.
    const others = networks
      .filter(slug => slug !== use.network)
      .toSorted((a, b) => Number(isPriced(a)) - Number(isPriced(b)))
    let skipped = 0
    let why = 'the calls do not suffice'
    for (const network of others) {
      if (callsLeft() === 0) {
        skipped++
        continue
      }
      const reply = await ask(rpcAsk({ ...use, network, family: familyOf(network) }, {}, 2))
      const { credits } = creditsIn(reply)
      if (reply.call === 0) {
        skipped++
        why = reply.why
      } else if (credits === null || !hasResult(reply))
        findings.push(
          unknown(`rpc.networks.${network}.baseCredits`, hasResult(reply) ? uncharged(reply) : because(reply)),
        )
      else findings.push(...networkFindings(network, credits, cite(reply)))
    }
    if (skipped > 0)
      findings.push(
        unknown(`rpc.networks: baseCredits of ${skipped} networks, ${others.slice(-skipped).join(', ')}`, why),
      )
    return { findings: [...first, ...findings] }
  },
}

const isPriced = (slug: string): boolean => Object.hasOwn(rpc.networks, slug)

function networkFindings(slug: string, credits: number, evidence: string): readonly Fact[] {
  const baseCredits = credits > 0 ? credits : null
  if (isPriced(slug))
    return [value(['rpc', 'networks', slug, 'baseCredits'], baseCredits, evidence, `${credits} credits`)]
  return [value(['rpc', 'networks', slug], { baseCredits, family: familyOf(slug) }, evidence, `${credits} credits`)]
}
