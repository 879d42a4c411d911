import { describe, expect, test } from 'vitest'
import { lieByName } from '../../src/service/lies/lies.ts'
import { virtualRun } from '../support/virtual-run.ts'

const known = (name: string) => {
  const lie = lieByName(name)
  if (lie === undefined) throw new Error(`unknown lie: ${name}`)
  return lie
}

/** Lies about content, credits, replays, limits and the ledger, each with a scenario that shows it. */
const others = [
  ['rpc.status', 'rpc-created', 'smoke', 'failed-item-in-full'],
  ['rpc.status', 'rpc-created', 'smoke', 'response-without-jsonrpc'],
  ['rpc.status', 'rpc-created', 'idempotency', 'replay-charged-a-little'],
  ['rpc.status', 'rpc-created', 'idempotency', 'replay-unmarked'],
  ['chat.status', 'completion-created', 'smoke', 'object-of-old'],
  ['chat.status', 'completion-created', 'smoke', 'usage-twice'],
  ['chat.status', 'completion-created', 'billing', 'charged-twice'],
] as const

describe('a success that is not a 200 is a violation of its own', () => {
  test.each(others)('%s (%s) in %s does not hide %s', async (clause, status, scenario, name) => {
    const lies = [known(name), known(status)]
    const alone = await virtualRun({ scenario: `scenarios/${scenario}.yaml`, lies: lies.slice(0, 1) })
    const both = await virtualRun({ scenario: `scenarios/${scenario}.yaml`, lies })
    const clausesOf = ({ report }: typeof both) =>
      [...new Set(report.findings.map(finding => finding.clause))].toSorted()
    expect(alone.report.findings).not.toEqual([])
    expect(clausesOf(both)).toEqual([...clausesOf(alone), clause].toSorted())
  })
})
