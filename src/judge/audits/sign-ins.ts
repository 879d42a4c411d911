import { type Contract, resourceOf } from '../../contract/contract.ts'
import { sourceOfValue } from '../../contract/sources.ts'
import type { Rail } from '../../contract/wallets.ts'
import { plural } from '../../lib/format.ts'
import type { Observation } from '../../observation/observation.ts'
import { challengeIn, isSignedByWallet, memberOf } from '../../observation/payment-offer.ts'
import { is2xx, isAbuseBlock, isFromGateway, jsonObject } from '../../observation/response.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import type { Audit, AuditContext } from './audit.ts'

type Clause = Parameters<ClauseReporter<'sign-ins'>['pass']>[0]

/** What the sign-ins of one wallet have in common: where they were sent, and in which form. */
type Group = {
  readonly wallet: string
  readonly family: Rail['family']
  /** `other`: a list, or the balance. It shows that a wallet is known, and no clause is about it. */
  readonly part: 'inference' | 'rpc' | 'other'
  readonly isLegacy: boolean
  readonly layout: string | null
  accepted: number
  refused: number
  /** The first refused ones. */
  readonly ids: number[]
  status: number
}

/** A sign-in may be refused for its time if the clocks differ by more. */
const maxClockDifferenceMs = 10_000
/** Requests of a group that a finding cites. */
const maxCited = 20

/**
 * Judges whether the service accepts valid sign-ins. One that is refused is a violation only if another one was accepted:
 * otherwise the clocks may differ, or the domain. What the refused ones have in common tells which clause is violated.
 */
export function createSignInAudit(
  { contract, startedAtMs }: AuditContext,
  reporter: ClauseReporter<'sign-ins'>,
): Audit {
  const groups = new Map<string, Group>()

  return {
    add: observation => {
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
    finish: () => {
      for (const group of groups.values()) if (group.refused > 0) accuse(group)
    },
  }

  /** Whether the clock of the target differs, so that a new sign-in may seem old, or of the future. */
  function isClockFar({ response, headersMs }: Observation): boolean {
    const differenceMs = Date.parse(response?.headers.date ?? '') - startedAtMs - (headersMs ?? 0)
    return Math.abs(differenceMs) > maxClockDifferenceMs
  }

  function groupOf({ caller, chain = '', request, signIn }: Observation): Group {
    const part = partOf(request, contract)
    const { isLegacy = false, layout = null } = signIn ?? {}
    const key = `${caller}/${part}/${isLegacy}/${layout}`
    let group = groups.get(key)
    if (group === undefined) {
      const family = contract.wallets.rails[chain]?.family ?? 'evm'
      group = { wallet: caller, family, part, isLegacy, layout, accepted: 0, refused: 0, ids: [], status: 0 }
      groups.set(key, group)
    }
    return group
  }

  function accuse(group: Group): void {
    const { wallet, family, isLegacy, layout, refused, accepted, status, ids } = group
    const clause = violatedBy(group)
    if (clause === null) return
    const name = isLegacy ? contract.wallets.signIn.legacyHeader : contract.wallets.signIn.header
    const form = layout === null ? '' : ` and the layout ${layout}`
    const place = { inference: ' for inference', rpc: ' to the RPC proxy', other: '' }[group.part]
    const message = `${refused} of ${plural(refused + accepted, 'sign-in')} of ${wallet} (${family})${place} with ${name}${form} got status ${status}, expected all to be accepted`
    reporter.fail(clause, message, ids)
  }

  /** The clause that explains a refusal best; null: none does. */
  function violatedBy({ wallet, family, part, isLegacy, layout }: Group): Clause | null {
    const isAccepted = (fits: (other: Group) => boolean) =>
      [...groups.values()].some(each => each.accepted > 0 && fits(each))
    if (!isAccepted(other => other.wallet === wallet)) {
      if (isAccepted(other => other.family === family)) return 'wallet.no-account'
      const ofFamily = family === 'evm' ? 'wallet.evm' : 'wallet.solana'
      if (isAccepted(() => true)) return ofFamily
      const text = 'no sign-in was accepted: the domain, the clocks or the layout may differ'
      for (const clause of ['wallet.inference', 'wallet.rpc', ofFamily, 'wallet.no-account'] as const)
        reporter.unjudged(clause, { text, clause: null })
      return null
    }
    const isHere = (other: Group) => other.wallet === wallet && other.part === part
    if (isLegacy && isAccepted(other => isHere(other) && !other.isLegacy)) {
      if (!isAccepted(other => other.wallet === wallet && other.isLegacy)) return 'wallet.legacy-header'
    }
    // The document does not show the layout, so another one proves nothing, unless the profile states it.
    const isStated = sourceOfValue(contract, 'wallets.signIn.layouts') === 'profile'
    const isOtherLayout = isAccepted(other => isHere(other) && other.layout !== layout)
    const isLayoutKnown = isAccepted(other => other.wallet === wallet && other.layout === layout)
    if (!isStated && isOtherLayout && !isLayoutKnown) {
      const text = `the target refuses the layout ${layout}, which the document leaves open`
      reporter.unjudged('wallet.inference', { text, clause: null })
      return null
    }
    return part === 'other' ? null : `wallet.${part}`
  }
}

/** The clauses that an accepted sign-in proves. */
const clausesOf = ({ family, part, isLegacy }: Group): readonly Clause[] => [
  ...(part === 'other' ? [] : ([`wallet.${part}`] as const)),
  family === 'evm' ? 'wallet.evm' : 'wallet.solana',
  'wallet.no-account',
  ...(isLegacy ? (['wallet.legacy-header'] as const) : []),
]

/** The part of the service that a request is for. */
function partOf(request: Observation['request'], contract: Contract): Group['part'] {
  switch (request.kind) {
    case 'chat':
      return 'inference'
    case 'rpc':
      return 'rpc'
    case 'resource':
      return resourceOf(contract, request.resource)?.isInference === true ? 'inference' : 'other'
    default:
      return 'other'
  }
}

/** Whether a valid sign-in was accepted or refused; null: the response does not tell. */
function verdictOn({ chain, request, response }: Observation, contract: Contract): 'accepted' | 'refused' | null {
  if (chain === undefined || response === null || request.kind === 'probe' || !isSignedByWallet(request)) return null
  if (isAbuseBlock(response, contract) || isFromGateway(response, contract)) return null
  const { status } = response
  if (is2xx(status)) return 'accepted'
  if (status === 402) return isOfCredit(jsonObject(response) ?? {}, contract) ? 'accepted' : null
  if (status !== 401 && status !== 403) return null
  // Such a model is refused with 401, too.
  const isReserved =
    request.kind === 'chat' && contract.models.some(({ id, payingOnly }) => payingOnly && id === request.model)
  return isReserved ? null : 'refused'
}

/** Whether a 402 knows the wallet. One without a challenge may be for anybody. */
const isOfCredit = (body: Readonly<Record<string, unknown>>, { wallets }: Contract): boolean =>
  (wallets.insufficientCode !== null && memberOf(body, 'code') === wallets.insufficientCode) ||
  challengeIn(body) !== null
