import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { randomStream } from '../../src/lib/random.ts'
import type { Report } from '../../src/report/document.ts'
import { todays } from '../support/nightly.ts'
import { repeatedIn, reportIn, startQueue } from '../support/queued-run.ts'
import { describeWith } from '../support/real-part.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'

/** More of them by hand: `TURNPIKE_NIGHTLY=1 TURNPIKE_KILLS=200`. */
const kills = Number(process.env.TURNPIKE_KILLS ?? 10)
const shards = 3
/** From the claims to after the end of a run without a fault. */
const spanMs = 8_000
/** How long a process is paused, or Redis away: shorter and longer than a worker may be silent. */
const maxAwayMs = 6_000
/** 30 requests per second, for 3 s. */
const planned = 90

describeWith('redis', 'a fault at a random moment of a run over three machines', () => {
  test.concurrent.for(
    todays(
      Array.from({ length: kills }, (_, seed) => seed),
      2,
    ),
  )('ends in the verdict of one machine, or in none (%i)', async (seed, { onTestFinished, annotate }) => {
    const random = randomStream(seed, 'kill')
    const faults = ['worker killed', 'worker paused', 'terminal killed', 'Redis killed'] as const
    const fault = faults[random.int(faults.length)]
    const victim = random.int(shards)
    const momentMs = random.next() * spanMs
    const awayMs = random.next() * maxAwayMs

    const { redis, serve, startWorkers, startRun } = await startQueue(onTestFinished)
    const service = await serve()
    const workers = await startWorkers(shards)
    const flags = ['--max-silence', '3', '--ready-within', '15']
    const run = await startRun({ shards, scenario: 'test/real/killed.yaml', target: service.target, flags })
    await pause(momentMs)
    const fromMs = Date.now()
    switch (fault) {
      case 'worker killed':
        workers[victim]?.child.kill('SIGKILL')
        break
      case 'worker paused':
        workers[victim]?.child.kill('SIGSTOP')
        await pause(awayMs)
        workers[victim]?.child.kill('SIGCONT')
        break
      case 'terminal killed':
        run.terminal.child.kill('SIGKILL')
        break
      default:
        await redis.kill()
        await pause(awayMs)
        await redis.restart(false)
    }
    const { code, report, stderr } = await conclude()
    await annotate(`${fault} after ${Math.round(momentMs)} ms: exit ${code} after ${Date.now() - fromMs} ms`)
    if (report === null) {
      // Redis was gone before the run was in its queue.
      expect([code, service.load(run.id)], stderr).toEqual([2, []])
      return
    }
    expect([0, 3], stderr).toContain(code)
    expect(report.findings).toEqual([])

    // A worker that still sends does it now.
    await pause(1_000)
    const got = service.load(run.id).length
    expect(repeatedIn(service)).toEqual([])
    expect(got).toBeLessThanOrEqual(planned)
    if (code !== 0) return
    expect(got).toBe(planned)
    expect(report.load.answered).toBeGreaterThanOrEqual(report.load.planned)

    /** From another terminal, if the first one was killed before its end. */
    async function conclude(): Promise<{
      readonly code: number | null
      readonly report: Report | null
      stderr: string
    }> {
      const ended = await run.terminal.ended
      if (ended.code !== null) return { ...ended, report: ended.code === 2 ? null : reportIn(run.out) }
      const out = freshDirectory()
      const args = ['attach', run.id, '--redis', redis.url, '--out', out, '--no-progress']
      const attached = await turnpike(args)
      return { ...attached, report: reportIn(out) }
    }
  })
})
