import { describe, expect, test } from 'vitest'
import { allLies, lieByName } from '../../src/service/lies/lies.ts'
import { withoutTimes } from '../support/shortened.ts'
import { virtualRun } from '../support/virtual-run.ts'

/** The scenarios for servers and nodes of others, with the clauses that they exercise at least. */
const others = [
  { name: 'llm-server', profile: 'openai-compatible', atLeast: 20 },
  { name: 'llm-conformance', profile: 'openai-compatible', atLeast: 20 },
  { name: 'rpc-node', profile: 'json-rpc-node', atLeast: 6 },
  { name: 'node-conformance', profile: 'json-rpc-node', atLeast: 13 },
].map(each => ({ ...each, profile: `scenarios/profiles/${each.profile}.yaml` }))

describe.each(others)('$name', ({ name, profile, atLeast }) => {
  test('passes on the reference service, search included', async () => {
    const { report, plan } = await virtualRun({ scenario: `scenarios/${name}.yaml`, profile })
    expect(report.reasons.join('\n')).toMatch(/responses checked/)
    expect([report.verdict, report.findings]).toEqual(['pass', []])
    expect(report.capacity.every(({ status }) => status === 'found')).toBe(true)
    expect(report.clauses.filter(({ verdict }) => verdict === 'pass').length).toBeGreaterThanOrEqual(atLeast)
    expect(plan.budgetUsd).toBe(null)
  })

  const scenario = withoutTimes(name)

  test('names every lie about a clause that it exercises, and no other', async () => {
    const { report: honest } = await virtualRun({ scenario, profile })
    expect([honest.verdict, honest.findings]).toEqual(['pass', []])
    const exercised = honest.clauses.filter(({ verdict }) => verdict === 'pass').map(({ id }) => id as string)
    const promised = honest.clauses.filter(({ verdict }) => verdict !== 'not-promised').map(({ id }) => id as string)
    const [missed, wrong]: [string[], string[]] = [[], []]
    let caught = 0
    // One of each clause. The others must go unnoticed, and a few of them show that. A lie about the list of models
    // concerns the plan.
    const firsts = new Map(allLies.toReversed().map(lie => [lie.clause as string, lie]))
    firsts.delete('catalogue.models')
    const lies = [...firsts.values()].filter(({ clause }, index) => promised.includes(clause) || index % 8 === 0)
    for (const { name: lieName, clause } of lies) {
      const lie = lieByName(lieName)
      if (lie === undefined) throw new Error(`unknown lie: ${lieName}`)
      const { report } = await virtualRun({ scenario, profile, lies: [lie] })
      const failed = report.findings.map(finding => finding.clause as string)
      const violated: readonly string[] = [clause, ...lie.alsoViolates]
      if (failed.some(id => !promised.includes(id) || !violated.includes(id))) wrong.push(lieName)
      if (failed.length > 0) caught++
      else if (exercised.includes(clause)) missed.push(lieName)
    }
    expect(wrong).toEqual([])
    const tried = new Set(lies.map(({ name }) => name))
    expect(new Set(missed)).toEqual(new Set((unseen[name] ?? []).filter(lie => tried.has(lie))))
    expect(caught).toBeGreaterThanOrEqual(atLeast - 2)
  })
})

const unseenByCompletions = [
  // A choice may lack this key.
  'choice-without-logprobs',
  // No prompt is sent twice, so none comes from a cache.
  ...['cached-as-text', 'written-with-a-fraction', 'more-cached-than-sent', 'cached-and-written'],
  'cache-details-as-list',
  // No request is incomplete, and no prompt is short.
  ...['model-by-default', 'conversation-by-default', 'short-prompts-refused'],
]

/** Lies that do not violate the profile, or that only show in requests which these scenarios do not send. */
const unseen: Readonly<Record<string, readonly string[]>> = {
  // Four ordinary requests are too few to see two of five fail, or what batches have in common.
  'node-conformance': ['text-id-is-sometimes-502', 'batch-fails-as-a-whole'],
  // It sends RPC calls in several forms, and no completion.
  'rpc-node': ['streams-refused'],
  'llm-server': unseenByCompletions,
  'llm-conformance': unseenByCompletions,
}
