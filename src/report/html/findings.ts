import { plural } from '../../lib/format.ts'
import { evidenceLines, requestList, shownEvidence } from '../plain-evidence.ts'
import type { Report, ReportedDiscrepancy, ReportedExample, ReportedFinding } from '../report.ts'
import { type Html, html, nothing } from './html.ts'

/** The first ones are open; who has more to read opens what he wants. */
const mostOpen = 3
const longestCommand = 6_000

export function findingsSection({ findings, billing: { discrepancies } }: Report): Html {
  if (findings.length + discrepancies.length === 0) return nothing
  return html`<section id="findings"><h2>Findings</h2>
${findings.map((finding, index) => findingCard(finding, index < mostOpen))}
${discrepancies.map((discrepancy, index) => discrepancyCard(discrepancy, findings.length + index < mostOpen))}</section>`
}

const findingCard = (
  { clause, section, says, check, count, because, examples }: ReportedFinding,
  isOpen: boolean,
): Html =>
  html`<article class="finding"><h3><code>${clause}</code></h3>
<p class="quiet small">§${section} · ${plural(count, 'violation')} · judged by ${check}</p>
<dl><dt>says</dt><dd>${says}</dd><dt>seen</dt><dd>${because}</dd></dl>
${proof(examples[0], `${clause} ${because}`, isOpen)}</article>`

const discrepancyCard = ({ kind, count, amountUsd, examples }: ReportedDiscrepancy, isOpen: boolean): Html =>
  html`<article class="finding"><h3><code>${kind}</code></h3>
<p class="quiet small">ledger · ${plural(count, 'discrepancy', 'discrepancies')} · $${amountUsd} in all</p>
${examples[0] === undefined ? nothing : html`<dl><dt>seen</dt><dd>${examples[0].because}</dd></dl>`}
${proof(examples[0], `${kind} credits cost`, isOpen)}</article>`

function proof(example: ReportedExample | undefined, about: string, isOpen: boolean): Html {
  if (example === undefined || example.evidence.length === 0) return nothing
  const shown = shownEvidence(example).map(evidence => {
    const curl = evidence.request?.curl ?? null
    const command =
      curl === null
        ? nothing
        : html`<details class="aside"><summary>Send it again</summary><pre class="command">${curl.length > longestCommand ? 'The command is in findings.ndjson.' : curl}</pre></details>`
    return html`<pre>${evidenceLines(evidence, about).join('\n')}</pre>${command}`
  })
  const content = html`<summary>Evidence: ${requestList(example.seqs)}</summary>${shown}`
  return isOpen ? html`<details open>${content}</details>` : html`<details>${content}</details>`
}
