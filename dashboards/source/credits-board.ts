import type { Board } from './board.ts'
import { alarm, chart, difference, grid, stat } from './panels.ts'
import { ofRun, rate, series, table } from './queries.ts'

const chosen = ['call=~"$call"', 'network=~"$network"']
const of = (metric: string): string => ofRun(metric, ...chosen)
const sides = (metric: (side: string) => string, sum = 'sum'): ReturnType<typeof series>[] =>
  ['expected', 'claimed'].map(side => series(`${sum} (${metric(side)})`, side))

export const creditsBoard: Board = {
  uid: 'turnpike-credits',
  title: 'Turnpike: credits and money',
  question: 'Is what was claimed what the tariff says, and was it that which was billed? Where does it go?',
  choices: [
    ['call', 'turnpike_usd_claimed_total'],
    ['network', 'turnpike_usd_claimed_total'],
  ],
  rows: [
    {
      title: 'So far',
      panels: [
        stat({
          title: 'Credits expected',
          says: 'RPC credits by our tariff: turnpike_credits_expected_total.',
          unit: 'short',
          queries: [series(`sum(${of('turnpike_credits_expected_total')})`, 'expected')],
        }),
        stat({
          title: 'Credits claimed',
          says: 'RPC credits as the answers said: turnpike_credits_claimed_total.',
          unit: 'short',
          queries: [series(`sum(${of('turnpike_credits_claimed_total')})`, 'claimed')],
        }),
        stat({
          title: 'Expected',
          says: 'In USD by our tariff: turnpike_usd_expected_total.',
          unit: 'currencyUSD',
          queries: [series(`sum(${of('turnpike_usd_expected_total')})`, 'expected')],
        }).decimals(6),
        stat({
          title: 'Claimed',
          says: 'In USD as the answers said: turnpike_usd_claimed_total.',
          unit: 'currencyUSD',
          queries: [series(`sum(${of('turnpike_usd_claimed_total')})`, 'claimed')],
        }).decimals(6),
        stat({
          title: 'Billed',
          says: 'Taken from the balances, as far as they were shown: turnpike_billed_usd. All calls together.',
          unit: 'currencyUSD',
          queries: [series(`sum(${ofRun('turnpike_billed_usd')})`, 'billed')],
          silence: 'No balance was shown',
        }).decimals(6),
        alarm(
          {
            title: 'Discrepancies',
            says: 'Named differences between what was claimed and what was billed: turnpike_discrepancies.',
            unit: 'short',
            queries: [
              series(
                `sum(${ofRun('turnpike_discrepancies')}) or sum(${ofRun('turnpike_run_info')}) * 0`,
                'discrepancies',
              ),
            ],
            silence: 'No run',
          },
          'None so far',
        ),
      ],
    },
    {
      title: 'Credits',
      panels: [
        chart({
          title: 'Credits a second',
          says: 'By our tariff (turnpike_credits_expected_total) and as answered (turnpike_credits_claimed_total).',
          unit: 'short',
          queries: sides(side => rate(of(`turnpike_credits_${side}_total`))),
        }),
        difference({
          title: 'Credits claimed beyond those expected',
          says: 'turnpike_credits_claimed_total less turnpike_credits_expected_total, by call. 0 is right.',
          unit: 'short',
          queries: [
            series(
              `sum by (call) (${of('turnpike_credits_claimed_total')}) - sum by (call) (${of('turnpike_credits_expected_total')})`,
              '{{call}}',
            ),
          ],
        }),
        chart({
          title: 'Credits a second by network',
          says: 'As answered: turnpike_credits_claimed_total.',
          unit: 'short',
          queries: [series(`sum by (network) (${rate(of('turnpike_credits_claimed_total'))})`, '{{network}}')],
        }),
        chart({
          title: 'Credits a second by call',
          says: 'As answered: turnpike_credits_claimed_total.',
          unit: 'short',
          queries: [series(`sum by (call) (${rate(of('turnpike_credits_claimed_total'))})`, '{{call}}')],
        }),
      ],
    },
    {
      title: 'Money',
      panels: [
        chart({
          title: 'Expected, claimed, billed',
          says: 'In USD so far: turnpike_usd_expected_total, turnpike_usd_claimed_total and turnpike_billed_usd, which is of all calls.',
          unit: 'currencyUSD',
          queries: [
            ...sides(side => of(`turnpike_usd_${side}_total`)),
            series(`sum(${ofRun('turnpike_billed_usd')})`, 'billed'),
          ],
        }).decimals(6),
        chart({
          title: 'Spent by the hour',
          says: 'At the rate of now, as answered: turnpike_usd_claimed_total times 3,600.',
          unit: 'currencyUSD',
          queries: [series(`sum by (call) (${rate(of('turnpike_usd_claimed_total'))}) * 3600`, '{{call}}')],
        }).decimals(4),
        chart({
          title: 'Balance by caller',
          says: 'As the latest answer showed it, which is before its request: turnpike_balance_usd. Callers beyond the first fifty share (other).',
          unit: 'currencyUSD',
          queries: [series(ofRun('turnpike_balance_usd'), '{{caller}}')],
          silence: 'No balance was shown',
        }).decimals(6),
        chart({
          title: 'Balances together',
          says: 'Over all callers: turnpike_balance_usd, and turnpike_balance_diem at one for one.',
          unit: 'currencyUSD',
          queries: [
            series(`sum(${ofRun('turnpike_balance_usd')})`, 'USD'),
            series(`sum(${ofRun('turnpike_balance_diem')})`, 'DIEM'),
          ],
          silence: 'No balance was shown',
        }).decimals(4),
        grid({
          title: 'By call and network',
          says: 'So far: turnpike_credits_expected_total, turnpike_credits_claimed_total, turnpike_usd_expected_total and turnpike_usd_claimed_total.',
          unit: 'short',
          queries: ['credits_expected', 'credits_claimed', 'usd_expected', 'usd_claimed'].map(what =>
            table(`sum by (call, network) (${of(`turnpike_${what}_total`)})`, what.replace('_', ' ')),
          ),
          width: 14,
        }),
        grid({
          title: 'Discrepancies by kind',
          says: 'turnpike_discrepancies. Some get a better name when the run ends.',
          unit: 'short',
          queries: [table(ofRun('turnpike_discrepancies'), 'count')],
          width: 10,
          silence: 'None so far',
        }),
      ],
    },
  ],
}
