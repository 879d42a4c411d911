import type { Board } from './board.ts'
import { alarm, chart, grid, stat } from './panels.ts'
import { ofCallers, ofRun, rate, series, table } from './queries.ts'

const byLimit = 'caller, scope, tier'
const limit = '{{caller}} {{scope}}'
const remainingRequests = ofCallers('turnpike_ratelimit_remaining', 'unit="requests"')
const remainingTokens = ofCallers('turnpike_ratelimit_remaining', 'unit="tokens"')
const allowed = ofCallers('turnpike_ratelimit_requests')
const sum = (metric: string): string => `sum(${ofCallers(metric)})`

export const limitsBoard: Board = {
  uid: 'turnpike-limits',
  title: 'Turnpike: limits',
  question: 'How much of their rate limits do callers use, and does the service reject requests within the limits?',
  choices: [
    ['caller', 'turnpike_ratelimit_accepted_total'],
    ['scope', 'turnpike_ratelimit_accepted_total'],
  ],
  rows: [
    {
      title: 'So far',
      panels: [
        stat({
          title: 'Accepted',
          text: 'Requests that a rate limit accepted: turnpike_ratelimit_accepted_total.',
          unit: 'short',
          queries: [series(sum('turnpike_ratelimit_accepted_total'), 'accepted')],
        }),
        stat({
          title: 'Rejected',
          text: 'Requests that a rate limit rejected with 429: turnpike_ratelimit_rejected_total.',
          unit: 'short',
          queries: [series(sum('turnpike_ratelimit_rejected_total'), 'rejected')],
        }),
        alarm(
          {
            title: 'Unexpected 429',
            text: 'Requests rejected although no possible count of earlier requests reaches the limit: turnpike_unexpected_429_total.',
            unit: 'short',
            queries: [series(sum('turnpike_unexpected_429_total'), 'unexpected')],
          },
          'None so far',
        ),
        alarm(
          {
            title: 'Missing 429',
            text: 'Requests accepted although the certain count of earlier requests exceeds the limit: turnpike_missing_429_total. Counted when a window is over.',
            unit: 'short',
            queries: [series(sum('turnpike_missing_429_total'), 'missing')],
          },
          'None so far',
        ),
        stat({
          title: 'Abuse-block responses',
          text: 'Responses from the abuse block: turnpike_abuse_block_responses_total.',
          unit: 'short',
          queries: [
            series(
              `sum(${ofRun('turnpike_abuse_block_responses_total')}) or sum(${ofRun('turnpike_run_info')}) * 0`,
              'responses',
            ),
          ],
        }),
        stat({
          title: 'Lowest remaining ratio',
          text: 'Minimum over callers and scopes of remaining requests divided by allowed requests: turnpike_ratelimit_remaining, turnpike_ratelimit_requests.',
          unit: 'percentunit',
          queries: [
            series(
              `min(max by (${byLimit}) (${remainingRequests}) / (max by (${byLimit}) (${allowed}) > 0))`,
              'remaining',
            ),
          ],
        }),
      ],
    },
    {
      title: 'Usage',
      panels: [
        chart({
          title: 'Requests used',
          text: 'Requests used in the current window, from response headers: turnpike_ratelimit_requests minus turnpike_ratelimit_remaining.',
          unit: 'short',
          queries: [series(`max by (${byLimit}) (${allowed}) - max by (${byLimit}) (${remainingRequests})`, limit)],
        }),
        chart({
          title: 'Ratio used',
          text: 'Requests used in the current window divided by requests allowed: turnpike_ratelimit_remaining, turnpike_ratelimit_requests.',
          unit: 'percentunit',
          queries: [
            series(`1 - max by (${byLimit}) (${remainingRequests}) / (max by (${byLimit}) (${allowed}) > 0)`, limit),
          ],
        }),
        chart({
          title: 'Remaining requests',
          text: 'Remaining requests in the latest response: turnpike_ratelimit_remaining.',
          unit: 'short',
          queries: [series(remainingRequests, limit)],
        }),
        chart({
          title: 'Remaining tokens',
          text: 'Remaining tokens in the latest response of a chat call: turnpike_ratelimit_remaining.',
          unit: 'short',
          queries: [series(remainingTokens, limit)],
        }),
      ],
    },
    {
      title: 'Accepted and rejected',
      panels: [
        chart({
          title: 'Accepted per second',
          text: 'Accepted requests per second, by tier and scope: turnpike_ratelimit_accepted_total.',
          unit: 'reqps',
          queries: [
            series(
              `sum by (tier, scope) (${rate(ofCallers('turnpike_ratelimit_accepted_total'))})`,
              '{{scope}} ({{tier}})',
            ),
          ],
        }),
        chart({
          title: 'Rejected per second',
          text: 'Rejected requests per second, by caller and scope: turnpike_ratelimit_rejected_total.',
          unit: 'reqps',
          queries: [series(`sum by (${byLimit}) (${rate(ofCallers('turnpike_ratelimit_rejected_total'))})`, limit)],
        }),
        chart({
          title: 'Wrong decisions so far',
          text: 'Requests rejected within a limit (turnpike_unexpected_429_total), and accepted above it (turnpike_missing_429_total).',
          unit: 'short',
          queries: [
            series(sum('turnpike_unexpected_429_total'), 'unexpected 429'),
            series(sum('turnpike_missing_429_total'), 'missing 429'),
          ],
        }),
        chart({
          title: 'Abuse block',
          text: 'Responses from the abuse block, by caller: turnpike_abuse_block_responses_total.',
          unit: 'short',
          queries: [series(ofRun('turnpike_abuse_block_responses_total', 'caller=~"$caller"'), '{{caller}}')],
          noValue: 'No caller is blocked',
        }),
        grid({
          title: 'By caller, scope and tier',
          text: 'Latest and total values: turnpike_ratelimit_requests, turnpike_ratelimit_remaining, turnpike_ratelimit_accepted_total, turnpike_ratelimit_rejected_total, turnpike_unexpected_429_total and turnpike_missing_429_total.',
          unit: 'short',
          queries: [
            table(`max by (${byLimit}) (${allowed})`, 'limit'),
            table(`max by (${byLimit}) (${remainingRequests})`, 'remaining'),
            ...['ratelimit_accepted', 'ratelimit_rejected', 'unexpected_429', 'missing_429'].map(what =>
              table(
                `sum by (${byLimit}) (${ofCallers(`turnpike_${what}_total`)})`,
                what.replace(/ratelimit_|_/g, ' ').trim(),
              ),
            ),
          ],
        }),
      ],
    },
  ],
}
