import type { Contract } from '../../contract/contract.ts'
import { sourceOfValue } from '../../contract/sources.ts'
import type { Rail, WalletTerms } from '../../contract/wallets.ts'
import { quote } from '../../lib/format.ts'
import { type JsonObject, toObject } from '../../lib/json.ts'
import { pico } from '../../lib/money.ts'
import type { ObservedResponse } from '../../observation/observation.ts'
import {
  amountOf,
  challengeIn,
  differencesOf,
  isDiscovery,
  isRefusedForCredit,
  memberOf,
  minCutLength,
  type PaymentRequirements,
  railOf,
  requirementsIn,
} from '../../observation/payments.ts'
import { isOfferRequest } from '../../observation/requests/wallets.ts'
import { is2xx, isAbuseBlock, isFromGateway, jsonObject } from '../../observation/response.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import { type Check, type Expect, expectFor } from './check.ts'

type Clause = Parameters<ClauseReporter<'wallet-offers'>['pass']>[0]

/** Checks what a wallet is told about paying: by a top-up without a payment, and if its credit is too low. */
export const checkWalletOffers: Check<'wallet-offers'> = (observation, contract, reporter) => {
  const { request, response, id } = observation
  if (response === null || (response.status !== 402 && !isOfferRequest(request))) return
  if (isFromGateway(response, contract) || isAbuseBlock(response, contract)) return
  const { wallets: terms } = contract
  const expect = expectFor<Clause>(reporter, id)
  const body = jsonObject(response)
  const stated = requirementsIn({ headers: response.headers, body }, terms)
  const { accepts } = stated.all
  if (isOfferRequest(request)) {
    if (unrelated.includes(response.status) || !judgeOffer(response.status, accepts, contract, expect)) return
    judgeRails(accepts, terms, expect)
    if (response.status === 402) judgeRequired(response, stated, terms, reporter, id)
  } else if (isDiscovery(request)) {
    judgeRails(accepts, terms, expect)
    // Another clause judges whether the header is there.
    if (response.headers[headerOf(terms)] !== undefined) judgeRequired(response, stated, terms, reporter, id)
  } else if (isRefusedForCredit(observation)) {
    judgeCode(body ?? {}, terms, expect)
    const lack = lackOfHelp(body ?? {}, response.headers.date, terms)
    expect('wallet.insufficient.help', lack === null, () => `a 402 to a wallet for ${request.kind} ${lack}`)
    judgeRequired(response, stated, terms, reporter, id)
    judgeRails(accepts, terms, expect)
  }
}

/** Statuses about the rate of the caller, or of an outage. */
const unrelated: readonly number[] = [408, 425, 429, 502, 503, 504]

type Judge = Expect<Clause>

const headerOf = ({ topUp }: WalletTerms): string => topUp.requiredHeader.toLowerCase()

/** Whether a top-up without a payment got an offer that can be judged further. */
function judgeOffer(status: number, accepts: unknown, contract: Contract, expect: Judge): boolean {
  const { offerStatus } = contract.wallets.topUp
  // The document states the content of the offer, and not its status.
  const isStated = sourceOfValue(contract, 'wallets.topUp.offerStatus') === 'profile'
  const isOffer = status === offerStatus || (!isStated && is2xx(status))
  if (!isOffer || !isList(accepts)) {
    const got = isOffer ? `accepts ${quote(accepts)}` : `status ${status}`
    expect('wallet.top-up.offer', false, () => `a top-up without a payment got ${got}, expected a list of payments`)
    return false
  }
  const wrong = accepts.map(each => wrongOffer(each, contract.wallets)).find(each => each !== null)
  expect('wallet.top-up.offer', wrong === undefined, () => `a payment of accepts ${wrong}`)
  return true
}

/** What is wrong about an entry of `accepts`, and what was expected; null: nothing. */
function wrongOffer(entry: unknown, terms: WalletTerms): string | null {
  const missing = missingIn(entry, terms)
  if (missing.length > 0) return `lacks a valid ${missing.join(', ')}, expected each to be complete`
  const { minimumUsd } = terms.topUp
  const decimals = railOf(toObject(entry)?.network, terms)?.[1].decimals
  const amount = amountOf(toObject(entry) ?? {})
  // The digits of an unknown token are unknown.
  if (decimals === undefined || BigInt(`${amount}`) * pico('1') >= pico(minimumUsd) * 10n ** BigInt(decimals))
    return null
  return `asks for ${amount} of the smallest unit, expected at least ${minimumUsd} USD`
}

const addresses: Readonly<Record<Rail['family'], RegExp>> = {
  evm: /^0x[0-9a-fA-F]{40}$/,
  solana: /^[1-9A-HJ-NP-Za-km-z]{32,44}$/,
}

/** The members that an entry of `accepts` lacks, or that no client could use. */
function missingIn(entry: unknown, terms: WalletTerms): readonly string[] {
  const payment = toObject(entry) ?? {}
  const { scheme, network, asset, payTo, maxTimeoutSeconds, extra } = payment
  const amount = amountOf(payment)
  const family = railOf(network, terms)?.[1].family
  const isAddress = typeof payTo === 'string' && (family === undefined || addresses[family].test(payTo))
  const hasName = isText(toObject(extra)?.name) && isText(toObject(extra)?.version)
  const members: readonly (readonly [name: string, isValid: boolean])[] = [
    ['scheme', isText(scheme)],
    ['network', isText(network)],
    ['asset', isText(asset)],
    ['amount', typeof amount === 'string' && /^[0-9]*[1-9][0-9]*$/.test(amount)],
    ['payTo', isAddress],
    ['maxTimeoutSeconds', typeof maxTimeoutSeconds === 'number' && maxTimeoutSeconds > 0],
    // For an exact amount, an EVM wallet signs the name and the version of the token.
    ['extra', family !== 'evm' || scheme !== 'exact' || hasName],
  ]
  return members.filter(([, isValid]) => !isValid).map(([name]) => name)
}

/** Offered payments must match the contract, and each chain of the contract must be offered. */
function judgeRails(accepts: unknown, terms: WalletTerms, expect: Judge): void {
  if (!isList(accepts)) return
  const offered = accepts.map(toObject)
  const wrong = offered.map(entry => wrongRail(entry ?? {}, terms)).find(each => each !== null)
  const names = offered.map(entry => railOf(entry?.network, terms)?.[0])
  const missing = Object.keys(terms.rails).filter(name => !names.includes(name))
  const problem = wrong ?? (missing.length > 0 ? `accepts lacks a payment on ${missing.join(' and ')}` : null)
  const expected = Object.entries(terms.rails).map(([name, { network }]) => `${name} (${network})`)
  expect(
    'wallet.top-up.rails',
    problem === null,
    () => `${problem}, expected the tokens of the profile on ${expected.join(' and ')}`,
  )
}

/** How an offered payment differs from every rail; null: it is one of them. What it lacks is judged elsewhere. */
function wrongRail({ network, asset, extra }: JsonObject, terms: WalletTerms): string | null {
  const found = railOf(network, terms)
  if (found === null) return network === undefined ? null : `a payment on ${quote(network)} is accepted`
  const [name, rail] = found
  const sameCase = (text: string) => (rail.family === 'evm' ? text.toLowerCase() : text)
  if (asset !== undefined && (typeof asset !== 'string' || sameCase(asset) !== sameCase(rail.asset)))
    return `the token on ${name} is ${quote(asset)}`
  const { name: tokenName = rail.tokenName, version = rail.tokenVersion } = toObject(extra) ?? {}
  if (rail.family === 'evm' && (tokenName !== rail.tokenName || version !== rail.tokenVersion))
    return `the token on ${name} has the name ${quote(tokenName)} and the version ${quote(version)}`
  return null
}

function judgeCode(body: JsonObject, { insufficientCode: expected }: WalletTerms, expect: Judge): void {
  if (expected === null) return
  const code = memberOf(body, 'code')
  const isStated = code === expected || body.error === expected
  expect('wallet.insufficient', isStated, () => `the code of a 402 to a wallet is ${quote(code)}, expected ${expected}`)
}

const helpNames = ['topUpInstructions', 'supportedTokens', 'supportedChains', 'siwxChallenge'] as const

/** Clocks and queues may differ by this much between the two instants of a response. */
const maxAgeMs = 60_000

/** What a 402 to a wallet lacks, and what was expected; null: nothing. */
function lackOfHelp(body: JsonObject, date: string | undefined, { rails }: WalletTerms): string | null {
  const missing = helpNames.filter(name => isEmpty(memberOf(body, name)))
  if (missing.length > 0) return `lacks ${missing.join(', ')}, expected all of them`
  const supported = memberOf(body, 'supportedChains')
  const chains = JSON.stringify(supported).toLowerCase()
  const isNamed = ([name, { network }]: readonly [string, Rail]) =>
    [name, network, network.split(':')[1] ?? name].some(text => chains.includes(text.toLowerCase()))
  if (!Object.entries(rails).every(isNamed))
    return `supports the chains ${quote(supported)}, expected ${Object.keys(rails).join(' and ')}`
  const tokens = memberOf(body, 'supportedTokens')
  const said = JSON.stringify(tokens).toLowerCase()
  const usdc = ['usdc', 'usd coin', ...Object.values(rails).map(({ asset }) => asset.toLowerCase())]
  if (!usdc.some(name => said.includes(name))) return `supports the tokens ${quote(tokens)}, expected USDC`
  const { issuedAt, expirationTime } = challengeIn(body) ?? {}
  const nowMs = Date.parse(date ?? '')
  // A challenge without these times does not tell whether it is new.
  if (Math.abs(timeOf(issuedAt) - nowMs) > maxAgeMs)
    return `has a challenge issued at ${quote(issuedAt)}, at ${date}, expected a new one`
  if (timeOf(expirationTime) < nowMs)
    return `has a challenge that expired at ${quote(expirationTime)}, at ${date}, expected a new one`
  return null
}

const timeOf = (value: unknown): number => (typeof value === 'string' ? Date.parse(value) : Number.NaN)

/** Whether the header has the requirements, and agrees with the body where both state one. */
function judgeRequired(
  { headers }: ObservedResponse,
  { header: required, body }: PaymentRequirements,
  terms: WalletTerms,
  reporter: ClauseReporter<'wallet-offers'>,
  id: number,
): void {
  const header = headers[headerOf(terms)]
  // A value that is this long may have been cut.
  if (header !== undefined && required === null && header.length >= minCutLength) {
    reporter.unjudged('wallet.payment-required', { text: 'the header with the requirements is too long', clause: null })
    return
  }
  const { requiredHeader } = terms.topUp
  const expect = expectFor<Clause>(reporter, id)
  if (required === null || !isList(required.accepts)) {
    const got = header === undefined ? 'nothing' : `${quote(header)}, which has no list of payments`
    expect('wallet.payment-required', false, () => `${requiredHeader} is ${got}, expected the requirements`)
    return
  }
  const different = differencesOf(required, body ?? {}, terms)
  expect(
    'wallet.payment-required',
    different.length === 0,
    () => `${requiredHeader} has another ${different.join(' and ')} than the body, expected the same`,
  )
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value) && value.length > 0

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)
