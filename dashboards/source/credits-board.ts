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
    ['call', 'turnpike_claimed_usd_total'],
    ['network', 'turnpike_claimed_usd_total'],
  ],
  rows: [
    {
      title: 'So far',
      panels: [
        stat({
          title: 'Credits expected',
          text: 'RPC credits by our tariff: turnpike_expected_credits_total.',
          unit: 'short',
          queries: [series(`sum(${of('turnpike_expected_credits_total')})`, 'expected')],
        }),
        stat({
          title: 'Credits claimed',
          text: 'RPC credits as the answers said: turnpike_claimed_credits_total.',
          unit: 'short',
          queries: [series(`sum(${of('turnpike_claimed_credits_total')})`, 'claimed')],
        }),
        stat({
          title: 'Expected',
          text: 'In USD by our tariff: turnpike_expected_usd_total.',
          unit: 'currencyUSD',
          queries: [series(`sum(${of('turnpike_expected_usd_total')})`, 'expected')],
        }).decimals(6),
        stat({
          title: 'Claimed',
          text: 'In USD as the answers said: turnpike_claimed_usd_total.',
          unit: 'currencyUSD',
          queries: [series(`sum(${of('turnpike_claimed_usd_total')})`, 'claimed')],
        }).decimals(6),
        stat({
          title: 'Billed',
          text: 'Taken from the balances, as far as they were shown: turnpike_billed_usd. All calls together.',
          unit: 'currencyUSD',
          queries: [series(`sum(${ofRun('turnpike_billed_usd')})`, 'billed')],
          silence: 'No balance was shown',
        }).decimals(6),
        alarm(
          {
            title: 'Discrepancies',
            text: 'Named differences between what was claimed and what was billed: turnpike_discrepancies.',
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
          text: 'By our tariff (turnpike_expected_credits_total) and as answered (turnpike_claimed_credits_total).',
          unit: 'short',
          queries: sides(side => rate(of(`turnpike_${side}_credits_total`))),
        }),
        difference({
          title: 'Credits claimed beyond those expected',
          text: 'turnpike_claimed_credits_total less turnpike_expected_credits_total, by call. 0 is right.',
          unit: 'short',
          queries: [
            series(
              `sum by (call) (${of('turnpike_claimed_credits_total')}) - sum by (call) (${of('turnpike_expected_credits_total')})`,
              '{{call}}',
            ),
          ],
        }),
        chart({
          title: 'Credits a second by network',
          text: 'As answered: turnpike_claimed_credits_total.',
          unit: 'short',
          queries: [series(`sum by (network) (${rate(of('turnpike_claimed_credits_total'))})`, '{{network}}')],
        }),
        chart({
          title: 'Credits a second by call',
          text: 'As answered: turnpike_claimed_credits_total.',
          unit: 'short',
          queries: [series(`sum by (call) (${rate(of('turnpike_claimed_credits_total'))})`, '{{call}}')],
        }),
      ],
    },
    {
      title: 'Money',
      panels: [
        chart({
          title: 'Expected, claimed, billed',
          text: 'In USD so far: turnpike_expected_usd_total, turnpike_claimed_usd_total and turnpike_billed_usd, which is of all calls.',
          unit: 'currencyUSD',
          queries: [
            ...sides(side => of(`turnpike_${side}_usd_total`)),
            series(`sum(${ofRun('turnpike_billed_usd')})`, 'billed'),
          ],
        }).decimals(6),
        chart({
          title: 'Spent by the hour',
          text: 'At the rate of now, as answered: turnpike_claimed_usd_total times 3,600.',
          unit: 'currencyUSD',
          queries: [series(`sum by (call) (${rate(of('turnpike_claimed_usd_total'))}) * 3600`, '{{call}}')],
        }).decimals(4),
        chart({
          title: 'Balance by caller',
          text: 'As the latest answer showed it, which is before its request: turnpike_balance_usd. Callers beyond the first fifty share (other).',
          unit: 'currencyUSD',
          queries: [series(ofRun('turnpike_balance_usd'), '{{caller}}')],
          silence: 'No balance was shown',
        }).decimals(6),
        chart({
          title: 'Balances together',
          text: 'Over all callers: turnpike_balance_usd, and turnpike_balance_diem at one for one.',
          unit: 'currencyUSD',
          queries: [
            series(`sum(${ofRun('turnpike_balance_usd')})`, 'USD'),
            series(`sum(${ofRun('turnpike_balance_diem')})`, 'DIEM'),
          ],
          silence: 'No balance was shown',
        }).decimals(4),
        grid({
          title: 'By call and network',
          text: 'So far: turnpike_expected_credits_total, turnpike_claimed_credits_total, turnpike_expected_usd_total and turnpike_claimed_usd_total.',
          unit: 'short',
          queries: ['expected_credits', 'claimed_credits', 'expected_usd', 'claimed_usd'].map(what =>
            table(`sum by (call, network) (${of(`turnpike_${what}_total`)})`, what.replace('_', ' ')),
          ),
          width: 14,
        }),
        grid({
          title: 'Discrepancies by kind',
          text: 'turnpike_discrepancies. Some get a better name when the run ends.',
          unit: 'short',
          queries: [table(ofRun('turnpike_discrepancies'), 'count')],
          width: 10,
          silence: 'None so far',
        }),
      ],
    },
  ],
}
