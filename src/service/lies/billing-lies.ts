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
      charge: (account, charge) => honest.charge(account, { ...charge, pico: charge.pico * 2n }),
    })),
    lie('not-charged', 'No charge is taken.', () => ({ charge: () => {} })),
    lie('third-charge-lost', 'Every third charge is lost.', honest => {
      let charges = 0
      return {
        charge: (account, charge) => {
          if (++charges % 3 !== 0) honest.charge(account, charge)
        },
      }
    }),
    lie('both-currencies-charged', 'A charge is taken in dollars and in DIEM.', honest => ({
      charge: (account, charge) => {
        honest.charge(account, { ...charge, currency: 'usd' })
        honest.charge(account, { ...charge, currency: 'diem' })
      },
    })),
    replyLie('dollars-shown-as-diem', 'The DIEM balance is the one of dollars.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}balance-diem`, () => reply.headers[`${headerPrefix}balance-usd`] ?? '0'),
    ),
    lie('failure-charged', 'A request that the service could not carry out is charged like the cheapest.', honest => ({
      finish: (reply, visit) => {
        const cheapest = { currency: 'usd', pico: 12_500_000n } as const
        if (reply.status >= 500 && visit.account !== null) honest.charge(visit.account, cheapest)
        return honest.finish(reply, visit)
      },
    })),
    lie('charge-rounded-up', 'Charges are rounded up to whole millionths.', honest => ({
      charge: (account, charge) =>
        honest.charge(account, { ...charge, pico: ((charge.pico + 999_999n) / 1_000_000n) * 1_000_000n }),
    })),
  ],
  'billing.currency': [
    lie('other-currency-charged', 'A charge is taken in the currency that it was not stated in.', honest => ({
      charge: (account, charge) =>
        honest.charge(account, { ...charge, currency: charge.currency === 'usd' ? 'diem' : 'usd' }),
    })),
    lie('diem-stated-as-dollars', 'A cost that is paid in DIEM is stated in dollars.', honest => ({
      cost: cost => honest.cost({ usd: cost.usd + cost.diem, diem: 0 }),
    })),
    lie('dollars-stated-as-diem', 'A cost that is paid in dollars is stated in DIEM.', honest => ({
      cost: cost => honest.cost({ usd: 0, diem: cost.usd + cost.diem }),
    })),
    lie('half-paid-in-dollars', 'Half of a charge in DIEM is taken in dollars.', honest => ({
      charge: (account, charge) => {
        const half = charge.currency === 'diem' ? charge.pico / 2n : 0n
        honest.charge(account, { currency: 'usd', pico: half })
        honest.charge(account, { ...charge, pico: charge.pico - half })
      },
    })),
  ],
} as const satisfies Lies
