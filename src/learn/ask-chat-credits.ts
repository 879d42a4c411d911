import type { Model } from '../contract/contract.ts'
import { countsOf } from '../judge/audits/ledger/prices.ts'
import { toObject } from '../lib/json.ts'
import { formatPico, nearestPico } from '../lib/money.ts'
import { is2xx } from '../lib/numbers.ts'
import { chatAsk } from './ask-chat.ts'
import type { Answer } from './asker.ts'
import { because, cite, type Fact, isService, type Question, type QuestionAsker, unknown, value } from './question.ts'

/** Where public gateways state the credits of a key. */
const balancePaths = ['/credits', '/key', '/balance', '/user/balance'] as const

/**
 * The header with the cost of a completion, the prices that explain these costs, and where the balance is in the body of its
 * endpoint. Its change by one completion tells.
 */
export const creditPlaces: Question = {
  name: 'places of credits',
  calls: 5 + balancePaths.length,
  // Otherwise the prices of RPC are asked, or the rules of nodes.
  applies: known => known.chat !== null && !isService(known) && known.rpc === null,
  answer: async ({ chat: use, contract, models }, { ask, replies }) => {
    if (use === null) return { findings: [] }
    const header = costHeaderIn(replies())
    const findings =
      header === null
        ? []
        : [
            value(['billing', 'costHeader'], header.name, header.reply, header.evidence),
            ...(use.model.usdPerMillion === null ? await findPrices(use.model, models, header, { ask, replies }) : []),
          ]
    const { balance } = contract.billing
    const lookAt = (path: string, afterMs = 0) =>
      ask({ call: { kind: 'balance' }, worstPico: 0n, afterMs }, asked => ({
        ...asked,
        billing: { ...asked.billing, balance: { ...balance, path } },
      }))
    // Without a stated cost, nothing tells which number of a body is a balance.
    const guessed = balance.path !== null || header === null ? [] : await guessBalance(lookAt)
    const path = balance.path ?? guessed.find(isBalance)?.path ?? null
    const unjudged = guessed.map(({ answer }) => answer)
    if (path === null) return { findings, unjudged }
    const before = await lookAt(path, settledAfterMs)
    const paid = await ask(chatAsk(use.model))
    const after = await lookAt(path, settledAfterMs)
    const failed = [before, paid, after].find(({ status }) => !is2xx(status))
    if (failed !== undefined) return { findings: [...findings, unknown(balanceText, because(failed))], unjudged }
    const stated = header === null ? null : nearestPico(paid.headers[header.name] ?? '')
    const moved = movedNumbers(before.body, after.body)
    const known = contract.sources['billing.balance.pointer'] === 'profile' ? balance.pointer : null
    const isByCost = ({ byPico }: MovedNumber) => byPico === stated || -byPico === stated
    // A body may state what is left and what was spent, of which each tells the other.
    const [place] = moved.filter(
      each => (known === null || each.pointer === known) && (moved.length === 1 || isByCost(each)),
    )
    if (place === undefined)
      return { findings: [...findings, unknown(balanceText, `${cite(after)}: ${movementText(moved)}`)], unjudged }
    const evidence = `${place.pointer} has moved by $${formatPico(place.byPico)} after one completion`
    const counts = place.byPico > 0n ? 'spent' : 'left'
    const isStated = isByCost(place)
    const other = stated === null ? 'no response states its cost' : `a cost of $${formatPico(stated)} was stated`
    return {
      findings: [
        ...findings,
        value(['billing', 'balance'], { ...balance, path, pointer: place.pointer, counts }, after, evidence),
        ...(isStated ? [] : [unknown('billing.conservation', `${cite(paid)}: ${other}, ${evidence}`)]),
      ],
      unjudged,
      // Where a profile names the place, another amount than the stated one is a defect.
      known: { creditClauses: isStated || (known !== null && stated !== null) ? ['billing.conservation'] : [] },
    }
  },
}

const balanceText = 'billing.balance.pointer'

type Guess = { readonly path: string; readonly answer: Answer }

const isBalance = ({ answer: { status, body } }: Guess): boolean => is2xx(status) && toObject(body) !== null

/** Asks at one path after the other, until one may be that of a balance. That others do not exist is not a mistake. */
async function guessBalance(lookAt: (path: string) => Promise<Answer>): Promise<readonly Guess[]> {
  const guesses: Guess[] = []
  for (const path of balancePaths) {
    guesses.push({ path, answer: await lookAt(path) })
    if (guesses.some(isBalance)) break
  }
  return guesses
}

/** The prices that explain the stated costs of completions of several lengths exactly; none if there is no one such pair. */
async function findPrices(
  model: Model,
  models: readonly Model[],
  { name, reply }: CostHeader,
  { ask, replies }: Pick<QuestionAsker, 'ask' | 'replies'>,
): Promise<readonly Fact[]> {
  const { call, worstPico } = chatAsk(model)
  if (call.kind !== 'chat') return []
  await ask({ call: { ...call, maxCompletionTokens: 4 }, worstPico })
  await ask({ call: { ...call, promptTokens: longPrompt }, worstPico: 2n * worstPico })
  const rows = replies().flatMap(({ status, body, headers, observation }) => {
    // The headers of a stream come before its tokens.
    if (!is2xx(status) || toObject(body) === null || observation === null) return []
    const counts = countsOf(observation)
    const cost = nearestPico(headers[name] ?? '')
    // A replay costs nothing, and cached tokens have a price of their own.
    if (counts === null || counts.cached > 0 || cost === null || cost <= 0n) return []
    return { prompt: BigInt(counts.prompt), completion: BigInt(counts.completion), cost }
  })
  const price = priceOf(rows)
  if (price === null) return []
  const usdPerMillion = {
    input: formatPico(price.input * million),
    output: formatPico(price.output * million),
    cacheInput: null,
    cacheWrite: null,
  }
  const priced = models.map(each => (each.id === model.id ? { ...each, usdPerMillion } : each))
  return [value(['models'], priced, reply, `the prices of ${model.id} explain each ${name}`)]
}

/** In tokens: the other prompts have half of it. */
const longPrompt = 100
const million = 1_000_000n

type PricedRow = { readonly prompt: bigint; readonly completion: bigint; readonly cost: bigint }

/** Two completions give two prices, in picodollars per token; a third one tells whether they are right. */
function priceOf(rows: readonly PricedRow[]): { readonly input: bigint; readonly output: bigint } | null {
  const distinct = new Set(rows.map(({ prompt, completion }) => `${prompt} ${completion}`))
  const [a] = rows
  const b = rows.find(each => a !== undefined && a.prompt * each.completion !== each.prompt * a.completion)
  if (a === undefined || b === undefined || distinct.size < 3) return null
  const of = a.prompt * b.completion - b.prompt * a.completion
  const input = (a.cost * b.completion - b.cost * a.completion) / of
  const output = (a.prompt * b.cost - b.prompt * a.cost) / of
  const fits = rows.every(({ prompt, completion, cost }) => prompt * input + completion * output === cost)
  return fits && input >= 0n && output >= 0n ? { input, output } : null
}

/** Longer than usual services need until a charge is in the balance. */
const settledAfterMs = 1_500

/** Headers of gateways with what one request costs. */
const nameOfCost = /(^|-)(cost|charged?|credits?-(used|spent|consumed))(-|$)/

type CostHeader = { readonly name: string; readonly reply: Answer; readonly evidence: string }

/** The header with a cost that every whole completion has; the shortest, since others are parts of it. */
function costHeaderIn(replies: readonly Answer[]): CostHeader | null {
  const whole = replies.filter(({ status, body }) => is2xx(status) && Array.isArray(toObject(body)?.choices))
  const [first, second] = whole
  if (first === undefined || second === undefined) return null
  const isCost = (text: string | undefined) => /^\d+(\.\d+)?(e-\d+)?$/i.test(text ?? '')
  const names = Object.keys(first.headers).filter(
    name => nameOfCost.test(name) && whole.every(({ headers }) => isCost(headers[name])),
  )
  const [name] = names.toSorted((a, b) => a.length - b.length)
  return name === undefined ? null : { name, reply: first, evidence: `${name} is ${first.headers[name]}` }
}

type MovedNumber = { readonly pointer: string; readonly byPico: bigint }

/** The numbers of a body that differ in another one, as JSON pointers. */
function movedNumbers(before: unknown, after: unknown, pointer = '', depth = 0): readonly MovedNumber[] {
  if (isNumeric(before) && isNumeric(after)) {
    const [from, to] = [nearestPico(String(before)), nearestPico(String(after))]
    return from === null || to === null || from === to ? [] : [{ pointer, byPico: to - from }]
  }
  const [from, to] = [toObject(before), toObject(after)]
  if (from === null || to === null || depth > maxDepth) return []
  return Object.keys(from)
    .slice(0, maxMembers)
    .flatMap(key => {
      const step = key.replaceAll('~', '~0').replaceAll('/', '~1')
      return /\s/.test(step) ? [] : movedNumbers(from[key], to[key], `${pointer}/${step}`, depth + 1)
    })
}

const [maxDepth, maxMembers] = [4, 100]
const isNumeric = (each: unknown): boolean => typeof each === 'number' || typeof each === 'string'

const movementText = (moved: readonly MovedNumber[]): string =>
  moved.length === 0
    ? 'no number has moved after a completion'
    : `${moved.map(({ pointer }) => pointer).join(', ')} have moved, and a cost tells none of them`
