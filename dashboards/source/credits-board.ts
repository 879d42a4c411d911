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
  question:
    'Do claimed amounts match the price list, and do billed amounts match the claims? Which calls cost the most?',
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
          text: 'RPC credits by the price list: turnpike_expected_credits_total.',
          unit: 'short',
          queries: [series(`sum(${of('turnpike_expected_credits_total')})`, 'expected')],
        }),
        stat({
          title: 'Credits claimed',
          text: 'RPC credits that responses claimed: turnpike_claimed_credits_total.',
          unit: 'short',
          queries: [series(`sum(${of('turnpike_claimed_credits_total')})`, 'claimed')],
        }),
        stat({
          title: 'USD expected',
          text: 'USD by the price list: turnpike_expected_usd_total.',
          unit: 'currencyUSD',
          queries: [series(`sum(${of('turnpike_expected_usd_total')})`, 'expected')],
        }).decimals(6),
        stat({
          title: 'USD claimed',
          text: 'USD that responses claimed: turnpike_claimed_usd_total.',
          unit: 'currencyUSD',
          queries: [series(`sum(${of('turnpike_claimed_usd_total')})`, 'claimed')],
        }).decimals(6),
        stat({
          title: 'USD billed',
          text: 'USD deducted from the balances that responses showed, for all calls: turnpike_billed_usd.',
          unit: 'currencyUSD',
          queries: [series(`sum(${ofRun('turnpike_billed_usd')})`, 'billed')],
          noValue: 'No balance shown',
        }).decimals(6),
        alarm(
          {
            title: 'Discrepancies',
            text: 'Differences between claimed and billed amounts: turnpike_discrepancies.',
            unit: 'short',
            queries: [
              series(
                `sum(${ofRun('turnpike_discrepancies')}) or sum(${ofRun('turnpike_run_info')}) * 0`,
                'discrepancies',
              ),
            ],
            noValue: 'No run',
          },
          'None so far',
        ),
      ],
    },
    {
      title: 'Credits',
      panels: [
        chart({
          title: 'Credits per second',
          text: 'By the price list (turnpike_expected_credits_total), and as responses claimed (turnpike_claimed_credits_total).',
          unit: 'short',
          queries: sides(side => rate(of(`turnpike_${side}_credits_total`))),
        }),
        difference({
          title: 'Claimed minus expected credits',
          text: 'turnpike_claimed_credits_total minus turnpike_expected_credits_total, by call. 0 is correct.',
          unit: 'short',
          queries: [
            series(
              `sum by (call) (${of('turnpike_claimed_credits_total')}) - sum by (call) (${of('turnpike_expected_credits_total')})`,
              '{{call}}',
            ),
          ],
        }),
        chart({
          title: 'Credits per second by network',
          text: 'RPC credits that responses claimed: turnpike_claimed_credits_total.',
          unit: 'short',
          queries: [series(`sum by (network) (${rate(of('turnpike_claimed_credits_total'))})`, '{{network}}')],
        }),
        chart({
          title: 'Credits per second by call',
          text: 'RPC credits that responses claimed: turnpike_claimed_credits_total.',
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
          text: 'Total USD: turnpike_expected_usd_total, turnpike_claimed_usd_total and turnpike_billed_usd, which includes all calls.',
          unit: 'currencyUSD',
          queries: [
            ...sides(side => of(`turnpike_${side}_usd_total`)),
            series(`sum(${ofRun('turnpike_billed_usd')})`, 'billed'),
          ],
        }).decimals(6),
        chart({
          title: 'Spend per hour',
          text: 'At the current rate, as responses claimed: the rate of turnpike_claimed_usd_total times 3,600.',
          unit: 'currencyUSD',
          queries: [series(`sum by (call) (${rate(of('turnpike_claimed_usd_total'))}) * 3600`, '{{call}}')],
        }).decimals(4),
        chart({
          title: 'Balance by caller',
          text: 'The balance in the latest response, before the charge of its request: turnpike_balance_usd. Callers after the first 50 share (other).',
          unit: 'currencyUSD',
          queries: [series(ofRun('turnpike_balance_usd'), '{{caller}}')],
          noValue: 'No balance shown',
        }).decimals(6),
        chart({
          title: 'Total balance',
          text: 'Sum over all callers: turnpike_balance_usd and turnpike_balance_diem.',
          unit: 'currencyUSD',
          queries: [
            series(`sum(${ofRun('turnpike_balance_usd')})`, 'USD'),
            series(`sum(${ofRun('turnpike_balance_diem')})`, 'DIEM'),
          ],
          noValue: 'No balance shown',
        }).decimals(4),
        grid({
          title: 'By call and network',
          text: 'Totals: turnpike_expected_credits_total, turnpike_claimed_credits_total, turnpike_expected_usd_total and turnpike_claimed_usd_total.',
          unit: 'short',
          queries: ['expected_credits', 'claimed_credits', 'expected_usd', 'claimed_usd'].map(what =>
            table(`sum by (call, network) (${of(`turnpike_${what}_total`)})`, what.replace('_', ' ')),
          ),
          width: 14,
        }),
        grid({
          title: 'Discrepancies by kind',
          text: 'turnpike_discrepancies. The kind of some may change when the run ends.',
          unit: 'short',
          queries: [table(ofRun('turnpike_discrepancies'), 'count')],
          width: 10,
          noValue: 'None so far',
        }),
      ],
    },
  ],
}
