import { formatPico, pico, roundPico } from '../../lib/money.ts'
import { type Lies, lie, replyLie } from './lie.ts'
import { withHeader } from './reply-edit.ts'

export const billingLies = {
  'billing.balance-before': [
    replyLie('balance-after', 'The balance is the one after the request.', (reply, { account }, { headerPrefix }) =>
      account === null ? reply : withHeader(reply, `${headerPrefix}balance-usd`, formatPico(account.picoUsd)),
    ),
    lie(
      'balance-one-request-late',
      'The balance is the one before the request before.',
      (honest, { headerPrefix }) => {
        const header = `${headerPrefix}balance-usd`
        const before = new Map<string, string>()
        return {
          finish: (reply, visit) => {
            const meant = honest.finish(reply, visit)
            const { [header]: balance } = meant.headers
            if (visit.account === null || balance === undefined) return meant
            const place = `${visit.account.tier}/${visit.account.name}`
            const shown = before.get(place) ?? balance
            before.set(place, balance)
            return withHeader(meant, header, shown)
          },
        }
      },
      ['billing.conservation'],
    ),
  ],
  'billing.conservation': [
    replyLie('balance-in-cents', 'The balance is rounded to cents.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}balance-usd`, value => roundPico(pico(value), 2)),
    ),
    lie('charged-twice', 'Every charge is taken twice.', honest => ({
      spend: (account, charge) => honest.spend(account, { ...charge, pico: charge.pico * 2n }),
    })),
    lie('not-charged', 'No charge is taken.', () => ({ spend: () => {} })),
    lie('third-charge-lost', 'Every third charge is lost.', honest => {
      let charges = 0
      return {
        spend: (account, charge) => {
          if (++charges % 3 !== 0) honest.spend(account, charge)
        },
      }
    }),
    lie('charge-rounded-up', 'Charges are rounded up to whole millionths.', honest => ({
      spend: (account, charge) =>
        honest.spend(account, { ...charge, pico: ((charge.pico + 999_999n) / 1_000_000n) * 1_000_000n }),
    })),
  ],
} as const satisfies Lies
