import { clauses as contractClauses } from '../../contract/clauses.ts'
import { oneLine, visibleJson } from '../../lib/visible.ts'
import { type Alert, alertsOf } from '../alerts.ts'
import type { Report } from '../document.ts'

/** Code scanning of GitHub shows no more of a message. */
const maxMessage = 1_000
const maxTitle = 200

/**
 * SARIF 2.1.0, for tools that collect findings: each reason why the run does not pass. A finding of a service has no line of
 * code, so its place is the report beside this file.
 */
export function renderSarif(report: Report): string {
  const { verdict, reasons, run } = report
  const alerts = alertsOf(report)
  const rules = [...new Set(alerts.map(({ rule }) => rule))]
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'Turnpike', version: run.version, rules: rules.map(ruleOf) } },
        automationDetails: { id: `turnpike/${run.scenario}/` },
        invocations: [
          {
            // As in JUnit: an inconclusive run never looks like one that found nothing.
            executionSuccessful: verdict !== 'inconclusive',
            startTimeUtc: run.startedAt,
            toolExecutionNotifications:
              verdict === 'inconclusive'
                ? reasons.map(reason => ({ level: 'error', message: { text: plainText(reason, maxMessage) } }))
                : [],
          },
        ],
        columnKind: 'utf16CodeUnits',
        results: alerts.map(alert => resultOf(alert, rules.indexOf(alert.rule), run.scenario)),
        properties: { verdict },
      },
    ],
  }
  return `${visibleJson(JSON.stringify(log, null, 2))}\n`
}

const others: Readonly<Record<string, string>> = {
  threshold: 'A threshold of the scenario is met.',
  regression: 'No number is worse than in the baselines.',
  inconclusive: 'The run proves what it is to prove.',
}

function ruleOf(id: string): object {
  const clause = (contractClauses as Readonly<Record<string, { readonly text: string } | undefined>>)[id]
  return { id, shortDescription: { text: clause?.text ?? others[id] ?? 'The ledger balances.' } }
}

const resultOf = ({ kind, rule, title, message }: Alert, ruleIndex: number, scenario: string): object => ({
  ruleId: rule,
  ruleIndex,
  level: kind,
  message: { text: `${plainText(title, maxTitle)}: ${plainText(message, maxMessage)}` },
  locations: [{ physicalLocation: { artifactLocation: { uri: 'report.json' }, region: { startLine: 1 } } }],
  // By these, a tool knows the finding of an earlier run again.
  partialFingerprints: { 'turnpike/v1': plainText(`${scenario} ${rule} ${title}`, maxTitle) },
})

/** One line, in which no text of a target is a link: `[text](address)` is one in SARIF. */
function plainText(text: string, max: number): string {
  const line = oneLine(text).replaceAll('](', ']\u200B(')
  return line.length <= max ? line : `${line.slice(0, max)}…`
}
