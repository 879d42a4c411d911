import type { Board } from './board.ts'
import { alarm, chart, grid, stat } from './panels.ts'
import { ofCallers, ofRun, rate, series, table } from './queries.ts'

const byLimit = 'caller, scope, tier'
const limit = '{{caller}} {{scope}}'
const requestsLeft = ofCallers('turnpike_ratelimit_remaining', 'unit="requests"')
const tokensLeft = ofCallers('turnpike_ratelimit_remaining', 'unit="tokens"')
const allowed = ofCallers('turnpike_ratelimit_requests')
const sum = (metric: string): string => `sum(${ofCallers(metric)})`

export const limitsBoard: Board = {
  uid: 'turnpike-limits',
  title: 'Turnpike: limits',
  question: 'What do callers use of what they are allowed, and is whoever keeps to it ever turned away?',
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
          text: 'Requests that a limit let through: turnpike_ratelimit_accepted_total.',
          unit: 'short',
          queries: [series(sum('turnpike_ratelimit_accepted_total'), 'accepted')],
        }),
        stat({
          title: 'Turned away',
          text: 'Requests that were answered 429 by a limit: turnpike_ratelimit_rejected_total.',
          unit: 'short',
          queries: [series(sum('turnpike_ratelimit_rejected_total'), 'turned away')],
        }),
        alarm(
          {
            title: 'Turned away within the limit',
            text: 'No possible count of what came before reaches the limit: turnpike_unexpected_429_total.',
            unit: 'short',
            queries: [series(sum('turnpike_unexpected_429_total'), 'unexpected')],
          },
          'None so far',
        ),
        alarm(
          {
            title: 'Let through beyond the limit',
            text: 'Even what is certain to have come before exceeds the limit: turnpike_missing_429_total. Known when a window is over.',
            unit: 'short',
            queries: [series(sum('turnpike_missing_429_total'), 'missing')],
          },
          'None so far',
        ),
        stat({
          title: 'Answers of the abuse block',
          text: 'turnpike_abuse_block_responses_total.',
          unit: 'short',
          queries: [
            series(
              `sum(${ofRun('turnpike_abuse_block_responses_total')}) or sum(${ofRun('turnpike_run_info')}) * 0`,
              'answers',
            ),
          ],
        }),
        stat({
          title: 'Least that remains',
          text: 'Of the requests of a window, over callers and scopes: turnpike_ratelimit_remaining by turnpike_ratelimit_requests.',
          unit: 'percentunit',
          queries: [
            series(`min(max by (${byLimit}) (${requestsLeft}) / (max by (${byLimit}) (${allowed}) > 0))`, 'remains'),
          ],
        }),
      ],
    },
    {
      title: 'Use',
      panels: [
        chart({
          title: 'Used',
          text: 'Requests of the window, as the answers said: turnpike_ratelimit_requests less turnpike_ratelimit_remaining.',
          unit: 'short',
          queries: [series(`max by (${byLimit}) (${allowed}) - max by (${byLimit}) (${requestsLeft})`, limit)],
        }),
        chart({
          title: 'Share used',
          text: 'Of the requests that a window allows: turnpike_ratelimit_remaining by turnpike_ratelimit_requests.',
          unit: 'percentunit',
          queries: [
            series(`1 - max by (${byLimit}) (${requestsLeft}) / (max by (${byLimit}) (${allowed}) > 0)`, limit),
          ],
        }),
        chart({
          title: 'Requests that remain',
          text: 'As the latest answer said: turnpike_ratelimit_remaining.',
          unit: 'short',
          queries: [series(requestsLeft, limit)],
        }),
        chart({
          title: 'Tokens that remain',
          text: 'As the latest answer said, for chat calls: turnpike_ratelimit_remaining.',
          unit: 'short',
          queries: [series(tokensLeft, limit)],
        }),
      ],
    },
    {
      title: 'Refusals',
      panels: [
        chart({
          title: 'Accepted a second',
          text: 'By tier and scope: turnpike_ratelimit_accepted_total.',
          unit: 'reqps',
          queries: [
            series(
              `sum by (tier, scope) (${rate(ofCallers('turnpike_ratelimit_accepted_total'))})`,
              '{{scope}} ({{tier}})',
            ),
          ],
        }),
        chart({
          title: 'Turned away a second',
          text: 'By caller and scope: turnpike_ratelimit_rejected_total.',
          unit: 'reqps',
          queries: [series(`sum by (${byLimit}) (${rate(ofCallers('turnpike_ratelimit_rejected_total'))})`, limit)],
        }),
        chart({
          title: 'Wrong so far',
          text: 'Turned away within a limit (turnpike_unexpected_429_total) and let through beyond it (turnpike_missing_429_total).',
          unit: 'short',
          queries: [
            series(sum('turnpike_unexpected_429_total'), 'turned away within'),
            series(sum('turnpike_missing_429_total'), 'let through beyond'),
          ],
        }),
        chart({
          title: 'Abuse block',
          text: 'Answers of the block, by caller: turnpike_abuse_block_responses_total.',
          unit: 'short',
          queries: [series(ofRun('turnpike_abuse_block_responses_total', 'caller=~"$caller"'), '{{caller}}')],
          silence: 'Nobody is blocked',
        }),
        grid({
          title: 'By caller, scope and tier',
          text: 'So far: turnpike_ratelimit_requests, turnpike_ratelimit_remaining, turnpike_ratelimit_accepted_total, turnpike_ratelimit_rejected_total, turnpike_unexpected_429_total and turnpike_missing_429_total.',
          unit: 'short',
          queries: [
            table(`max by (${byLimit}) (${allowed})`, 'limit'),
            table(`max by (${byLimit}) (${requestsLeft})`, 'remain'),
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
