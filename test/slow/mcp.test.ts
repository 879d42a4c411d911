import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Report } from '../../src/report/document.ts'
import { connectAgent, runsIn } from '../support/mcp-client.ts'
import { serveForTest } from '../support/turnpike.ts'

const reportIn = (folder: string, run: string): Report =>
  JSON.parse(readFileSync(join(folder, run, 'report.json'), 'utf8'))

describe.concurrent('turnpike mcp', () => {
  test('lists clauses, and says what is wrong with a name', async ({ onTestFinished }) => {
    const { call } = await connectAgent([], onTestFinished)
    expect((await call('clauses', { match: 'rpc.batch.error-price' })).data).toMatchObject({
      clauses: [{ id: 'rpc.batch.error-price', status: 'judged' }],
    })
    for (const [name, given, message] of [
      ['run', { scenario: 'shrt.yaml', budgetUsd: 1 }, 'did you mean "short.yaml"?'],
      ['report', { runDirectory: 'runs/none' }, 'runs/none'],
    ] as const)
      expect(await call(name, given)).toMatchObject({ isError: true, text: expect.stringContaining(message) })
  })

  test('runs within its cap, and explains the finding of a service that lies', async ({ onTestFinished }) => {
    const { target } = await serveForTest(['service', '--lie', 'failed-item-in-full'], onTestFinished)
    const { client, call, folder, strange } = await connectAgent(['--budget-usd', '0.05'], onTestFinished)
    const tooMuch = await call('run', { scenario: 'short.yaml', budgetUsd: '0.051' })
    expect(tooMuch).toMatchObject({ isError: true, text: expect.stringContaining('at most $0.05, which is left') })

    const progress: number[] = []
    const given = { scenario: 'short.yaml', target, budgetUsd: '0.05' }
    const run = await client.callTool(
      { name: 'run', arguments: given },
      { onprogress: each => void progress.push(each.progress) },
    )
    const [directory = ''] = runsIn(folder)
    expect(run.isError).toBe(false)
    const { findings } = run.structuredContent as Pick<Report, 'findings'>
    expect(run.structuredContent).toMatchObject({ verdict: 'fail', runDirectory: directory })
    const at = findings.findIndex(({ clause }) => clause === 'rpc.batch.error-price')
    expect(at).toBeGreaterThanOrEqual(0)
    expect(progress).toEqual(progress.toSorted((a, b) => a - b))
    expect(progress.length).toBeGreaterThan(0)

    const report = await call('report', { runDirectory: directory })
    expect(report.text).toContain('rpc.batch.error-price')
    expect(report.data).toMatchObject({ verdict: 'fail' })
    const finding = await call('explain_finding', { runDirectory: directory, number: at + 1 })
    expect(finding.data).toMatchObject({
      number: at + 1,
      clause: 'rpc.batch.error-price',
      repeat: `npx turnpike findings ${directory} ${at + 1} --repro`,
    })
    expect(finding.text).toContain('rpc.batch.error-price')

    // What the run has spent is gone.
    const again = await call('run', given)
    const { billing } = reportIn(folder, directory)
    const [, left = ''] = /at most \$([\d.]+), which is left of the \$0\.05/.exec(again.text) ?? []
    expect(Number(left)).toBeCloseTo(
      0.05 - Math.max(...[billing.expectedUsd, billing.claimedUsd, billing.billedUsd].map(Number)),
      9,
    )
    expect(runsIn(folder)).toHaveLength(1)
    expect(strange).toEqual([])
  })

  test('ends a run as ^C does when the client goes away', async ({ onTestFinished }) => {
    const { client, folder } = await connectAgent([], onTestFinished)
    const run = client.callTool(
      { name: 'run', arguments: { scenario: 'long.yaml', budgetUsd: '1' } },
      { onprogress: () => void client.close() },
    )
    await expect(run).rejects.toThrow()
    const [directory = ''] = runsIn(folder)
    while (!existsSync(join(folder, directory, 'report.json'))) await pause(100)
    expect(reportIn(folder, directory).run.ended).toBe('interrupted')
  })

  test('ends a run that the client cancels as ^C does', async ({ onTestFinished }) => {
    const { client, call, folder, strange } = await connectAgent([], onTestFinished)
    const stop = new AbortController()
    const cancelled = client.callTool(
      { name: 'run', arguments: { scenario: 'long.yaml', budgetUsd: '1' } },
      { signal: stop.signal, onprogress: () => stop.abort() },
    )
    await expect(cancelled).rejects.toThrow()
    // The next run may start when the first has written its report.
    let next = await call('run', { scenario: 'short.yaml', budgetUsd: '1' })
    while (next.text.includes('one run at a time')) next = await call('run', { scenario: 'short.yaml', budgetUsd: '1' })
    const [first = ''] = runsIn(folder).toSorted()
    const { run } = reportIn(folder, first)
    expect([run.scenario, run.ended]).toEqual(['long', 'interrupted'])
    // The service is honest. On a busy machine, a run may prove too little.
    expect(next.data).toMatchObject({
      verdict: expect.stringMatching(/^(pass|inconclusive)$/),
      findings: [],
      run: { scenario: 'short', ended: 'complete' },
    })
    expect(strange).toEqual([])
  })
})
