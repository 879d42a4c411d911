import type { Report } from '../../../src/report/document.ts'
import { failingReport } from './fixtures.ts'

/** Text by which a target could attack each renderer. */
export const hostile = [
  '</failure></pre></details></code></script></style></svg>',
  '<script>alert(1)</script><img src=x onerror=alert(1)>',
  ']]> --> "\' &amp; &#x3c;b&gt;',
  '```\n````\n| a | b |\n# heading\n- [ ] @everyone [x](javascript:alert(1)) ![i](https://evil.example/p.png)',
  'www.evil.example https://evil.example #1 `x` **b** _i_ ~~s~~',
  '::error::taken over ##[add-mask]x',
  '\u0000\u0007\u001b[2J\u202E\u2028\uFEFF',
].join('\n')

const [finding] = failingReport.findings
const [evidence] = finding?.examples[0]?.evidence ?? []
if (finding === undefined || evidence === undefined) throw new Error('the fixture has a finding with evidence')

const example = {
  requestIds: [17],
  decidedBy: [17],
  omitted: 0,
  count: 12,
  message: hostile,
  evidence: [
    {
      ...evidence,
      outcome: `failed: protocol (${hostile})`,
      headers: { 'x-credits': hostile },
      body: hostile,
    },
  ],
}

/** A report in which every untrusted text is hostile. */
export const hostileReport: Report = {
  ...failingReport,
  reasons: [...failingReport.reasons, `Threshold crossed: ${hostile}`],
  run: { ...failingReport.run, scenario: 'replay', question: hostile, target: `http://x/${hostile}`, profile: hostile },
  calls: failingReport.calls.map(facts => ({ ...facts, call: `${facts.call} ${hostile}` })),
  limits: failingReport.limits.map(use => ({ ...use, scope: hostile, tier: hostile, caller: hostile })),
  findings: [{ ...finding, message: hostile, examples: [example] }],
  billing: {
    ...failingReport.billing,
    discrepancies: failingReport.billing.discrepancies.map(each => ({ ...each, examples: [example] })),
  },
  thresholds: failingReport.thresholds.map(each => ({
    ...each,
    expression: `${each.expression} ${hostile}`,
    message: hostile,
    why: hostile,
  })),
}
