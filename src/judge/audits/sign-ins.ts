import type { Contract } from '../../contract/contract.ts'
import { probeOf } from '../../contract/probes.ts'
import { sourceOfValue } from '../../contract/sources.ts'
import type { Rail } from '../../contract/wallets.ts'
import { plural } from '../../lib/format.ts'
import type { Observation, ObservedResponse } from '../../observation/observation.ts'
import { challengeIn, memberOf } from '../../observation/payments.ts'
import { isChat } from '../../observation/requests/chat.ts'
import { isProbeRequest, type RequestKind, requestTraits } from '../../observation/requests/request.ts'
import { is2xx, isAbuseBlock, isFromGateway, jsonObject } from '../../observation/response.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import type { Audit, AuditContext } from './audit.ts'

type Clause = Parameters<ClauseReporter<'sign-ins'>['pass']>[0]

/** What the sign-ins of one wallet have in common: where they were sent, and in which form. Plain data. */
export type SignInGroup = {
  readonly wallet: string
  readonly family: Rail['family']
  /** `other`: a list, or the balance. It shows that a wallet is known, and no clause is about it. */
  readonly part: 'inference' | 'rpc' | 'other'
  readonly kind: RequestKind
  readonly isLegacy: boolean
  readonly header: string
  readonly layout: string | null
  /** Whether the profile states the layouts. The document leaves them open. */
  readonly isLayoutStated: boolean
  accepted: number
  refused: number
  /** The first refused ones. */
  readonly ids: number[]
  /** Of the last refused one. */
  status: number
}

/** The requests of a race so far. */
type Race = { seen: number; refused: number; readonly accepted: number[] }

/** A sign-in may be refused for its time if the clocks differ by more. */
const maxClockDifferenceMs = 10_000
/** Requests of a group that a finding cites. */
const maxCited = 20

/**
 * Counts the valid sign-ins that the service accepts and refuses. Only all wallets together show why one is refused, so
 * `judgeSignIns` reports the violations.
 */
export function createSignInAudit(
  { contract, startedAtMs }: AuditContext,
  reporter: ClauseReporter<'sign-ins'>,
): Audit & { readonly groups: () => readonly SignInGroup[] } {
  const groups = new Map<string, SignInGroup>()
  const races = new Map<number, Race>()
  const { header: usual, legacyHeader } = contract.wallets.signIn
  const isLayoutStated = sourceOfValue(contract, 'wallets.signIn.layouts') === 'profile'

  return {
    add: observation => {
      const { request } = observation
      if (isProbeRequest(request) && request.race !== undefined)
        return addToRace(request.race, request.probe, observation)
      const verdict = verdictOn(observation, contract)
      if (verdict === null || (verdict === 'refused' && isClockFar(observation))) return
      const group = groupOf(observation)
      if (verdict === 'refused') {
        group.refused++
        group.status = observation.response?.status ?? 0
        if (group.ids.length < maxCited) group.ids.push(observation.id)
        return
      }
      group.accepted++
      for (const clause of clausesOf(group)) reporter.pass(clause)
    },
    finish: () => {},
    groups: () => [...groups.values()],
  }

  /** Exactly one of the requests that share a sign-in may be accepted. Judged when the last one is there. */
  function addToRace(first: number, probe: string, { response, id }: Observation): void {
    const { copies = 1 } = probeOf(probe)
    const race = races.get(first) ?? { seen: 0, refused: 0, accepted: [] }
    races.set(first, race)
    const verdict = response === null ? null : verdictOf(response, contract)
    race.seen++
    if (verdict === 'refused') race.refused++
    if (verdict === 'accepted') race.accepted.push(id)
    if (race.seen < copies) return
    races.delete(first)
    const accepted = race.accepted.length
    if (accepted === 1 && race.refused > 0) reporter.pass('wallet.failed')
    if (accepted < 2) return
    const message = `${accepted} of ${copies} requests with one sign-in, sent at once, were accepted, expected 1`
    reporter.fail('wallet.failed', message, race.accepted)
  }

  /** Whether the clock of the target differs, so that a new sign-in may seem old, or of the future. */
  function isClockFar({ response, headersMs }: Observation): boolean {
    const differenceMs = Date.parse(response?.headers.date ?? '') - startedAtMs - (headersMs ?? 0)
    return Math.abs(differenceMs) > maxClockDifferenceMs
  }

  function groupOf({ caller, chain = '', request, signIn }: Observation): SignInGroup {
    const part = requestTraits(request).service(request, contract)
    const { isLegacy = false, layout = null } = signIn ?? {}
    const { kind } = request
    const key = `${caller}/${kind}/${isLegacy}/${layout}`
    let group = groups.get(key)
    if (group === undefined) {
      const family = contract.wallets.rails[chain]?.family ?? 'evm'
      const header = isLegacy ? (legacyHeader ?? usual) : usual
      const form = { isLegacy, header, layout, isLayoutStated }
      group = { wallet: caller, family, part, kind, ...form, accepted: 0, refused: 0, ids: [], status: 0 }
      groups.set(key, group)
    }
    return group
  }
}

/**
 * Judges the sign-ins of all workers. A refused one is a violation only if another one was accepted: otherwise the clocks
 * may differ, or the domain. What the refused ones have in common tells which clause is violated.
 */
export function judgeSignIns(groups: readonly SignInGroup[], reporter: ClauseReporter<'sign-ins'>): void {
  for (const group of groups) if (group.refused > 0) accuse(group)

  function accuse(group: SignInGroup): void {
    const { wallet, family, header, layout, refused, accepted, status, ids } = group
    const clause = violatedBy(group)
    if (clause === null) return
    const form = layout === null ? '' : ` and the layout ${layout}`
    const place = { inference: ' for inference', rpc: ' to the RPC proxy', other: '' }[group.part]
    const message = `${refused} of ${plural(refused + accepted, 'sign-in')} of ${wallet} (${family})${place} with ${header}${form} got status ${status}, expected all to be accepted`
    reporter.fail(clause, message, ids)
  }

  /** The clause that explains a refusal best; null: none does. */
  function violatedBy({ wallet, family, part, kind, isLegacy, layout, isLayoutStated }: SignInGroup): Clause | null {
    const isAccepted = (fits: (other: SignInGroup) => boolean) => groups.some(each => each.accepted > 0 && fits(each))
    const isOwn = (other: SignInGroup) => other.wallet === wallet
    if (!isAccepted(isOwn)) {
      if (isAccepted(other => other.family === family)) return 'wallet.no-account'
      const ofFamily = family === 'evm' ? 'wallet.evm' : 'wallet.solana'
      if (isAccepted(() => true)) return ofFamily
      const text =
        'no sign-in was accepted: the domain, the clocks or the layout may differ. If the target has another name in public, write it into the profile: wallets: { signIn: { domains: [api.example.com] } }'
      for (const clause of ['wallet.inference', 'wallet.rpc', ofFamily, 'wallet.no-account'] as const)
        reporter.unjudged(clause, { text, clause: null })
      return null
    }
    const isHere = (other: SignInGroup) => isOwn(other) && other.kind === kind
    const isLegacyRefused = isLegacy && !isAccepted(other => isOwn(other) && other.isLegacy)
    if (isLegacyRefused && isAccepted(isHere)) return 'wallet.legacy-header'
    // The document does not show the layout, so the service may refuse this one.
    const isLayoutRefused = !isAccepted(other => isOwn(other) && other.layout === layout)
    if (!isLayoutStated && isLayoutRefused && isAccepted(isHere)) {
      const text = `the target refuses the layout ${layout}, which the document leaves open`
      reporter.unjudged('wallet.inference', { text, clause: null })
      return null
    }
    return part === 'other' ? null : `wallet.${part}`
  }
}

/** The clauses that an accepted sign-in proves. */
const clausesOf = ({ family, part, isLegacy }: SignInGroup): readonly Clause[] => [
  ...(part === 'other' ? [] : ([`wallet.${part}`] as const)),
  family === 'evm' ? 'wallet.evm' : 'wallet.solana',
  'wallet.no-account',
  ...(isLegacy ? (['wallet.legacy-header'] as const) : []),
]

/** Whether a valid sign-in was accepted or refused; null: the response does not tell. */
function verdictOn({ chain, request, response }: Observation, contract: Contract): SignInVerdict | null {
  if (chain === undefined || response === null || isProbeRequest(request)) return null
  if (requestTraits(request).identity(request) !== 'caller') return null
  const verdict = verdictOf(response, contract)
  // Such a model is refused with 401, too.
  const isReserved = isChat(request) && contract.models.some(({ id, payingOnly }) => payingOnly && id === request.model)
  return verdict === 'refused' && isReserved ? null : verdict
}

type SignInVerdict = 'accepted' | 'refused'

/** Whether a response shows that a sign-in was accepted or refused; null: it does not tell. */
function verdictOf(response: ObservedResponse, contract: Contract): SignInVerdict | null {
  if (isAbuseBlock(response, contract) || isFromGateway(response, contract)) return null
  const { status } = response
  if (is2xx(status)) return 'accepted'
  if (status === 402) return isOfCredit(jsonObject(response) ?? {}, contract) ? 'accepted' : null
  return status === 401 || status === 403 ? 'refused' : null
}

/** Whether a 402 shows that the service knows the wallet. Any sender may get one without a challenge. */
const isOfCredit = (body: Readonly<Record<string, unknown>>, { wallets }: Contract): boolean =>
  (wallets.insufficientCode !== null && memberOf(body, 'code') === wallets.insufficientCode) ||
  challengeIn(body) !== null
