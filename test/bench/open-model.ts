import { median, noteUnpinned, onFreshTarget, targetCore } from './support/child.ts'
import type { Bench, Figure } from './support/figure.ts'
import { rpcProfile, rpcScenario, runShipped, type Shipped } from './support/shipped.ts'

const rates = [2_000, 5_000, 8_000, 12_000]
const goalRate = 8_000
/** An open load this far below the closed one must still be on time. */
const shareOfClosed = 0.6

/**
 * The open driver of the shipped command on one core, near the capacity of that core, from the first arrival on: how
 * many of the calls that were due got a response, and how late they were sent.
 */
export const benchOpenModel: Bench = async ({ short }) => {
  const rounds = short ? 1 : 3
  const seconds = short ? 2 : 8
  console.log(`\nOpen model on one core, ${rounds} rounds of ${seconds} s in turn, from the first arrival on`)
  noteUnpinned()
  const closedRate = await closedRateOf(rounds, seconds)
  const relative = Math.round(shareOfClosed * closedRate)
  console.log(`  64 closed users make ${closedRate.toFixed(0)} calls per second, of which 60 % are ${relative}`)
  console.log('  calls/s   achieved  answered ÷ due   lateness p50   p99 ms   max ms   latency p50')
  const runs = new Map<number, Shipped[]>([...(short ? [goalRate] : rates), relative].map(rate => [rate, []]))
  for (let round = 0; round < rounds; round++)
    for (const [rate, done] of runs) {
      const run = await openRun(rate, seconds)
      show(rate, run)
      done.push(run)
    }
  const figuresOf = (name: string, rate: number, maxMs: number | null): readonly Figure[] => {
    const done = runs.get(rate) ?? []
    const lateness = median(done.map(({ report }) => report.load.latenessMs.p99 ?? Number.NaN))
    const answered = median(done.map(answeredShare))
    const latenessAim = maxMs === null ? null : ({ kind: 'at-most', bound: maxMs } as const)
    const answeredAim = maxMs === null ? null : ({ kind: 'at-least', bound: 1 } as const)
    return [
      { name: `open model at ${name}, lateness p99`, value: lateness, unit: 'ms', aim: latenessAim },
      { name: `open model at ${name}, answered ÷ due`, value: answered, unit: '', aim: answeredAim },
    ]
  }
  return [
    ...figuresOf('8,000/s', goalRate, 5),
    ...figuresOf('60 % of the closed rate', relative, 10),
    ...(short ? [] : figuresOf('12,000/s', 12_000, null)),
  ]
}

async function closedRateOf(rounds: number, seconds: number): Promise<number> {
  const scenario = rpcScenario('shape: closed, users: 64', seconds)
  const closed: number[] = []
  for (let round = 0; round < rounds; round++) {
    const run = (port: string) => runShipped({ scenario, profile: rpcProfile, port })
    const { load } = await onFreshTarget(run, [], { core: targetCore })
    closed.push(load.achievedPerSecond ?? Number.NaN)
  }
  return median(closed)
}

/** A run that drops arrivals, because the rate is beyond this core, cannot tell; its figures are what is asked here. */
async function openRun(rate: number, seconds: number): Promise<Shipped> {
  const scenario = rpcScenario(`shape: constant, rate: ${rate}/s`, seconds)
  const run = (port: string) => runShipped({ scenario, profile: rpcProfile, port, verdicts: ['pass', 'inconclusive'] })
  const shipped = await onFreshTarget(run, [], { core: targetCore })
  const due = dueOf(shipped)
  if (Math.abs(due - rate * seconds) > 1) throw new Error(`${due} calls were due, and the plan has ${rate * seconds}`)
  return shipped
}

const dueOf = ({ load }: Shipped): number => load.count + load.dropped

const answeredShare = (run: Shipped): number => (run.load.count - run.load.failed) / dueOf(run)

function show(rate: number, run: Shipped): void {
  const { load, report } = run
  const { p50, p99, max } = report.load.latenessMs
  const cells = [
    [rate.toFixed(0), 9],
    [(load.achievedPerSecond ?? Number.NaN).toFixed(0), 11],
    [answeredShare(run).toFixed(4), 16],
    [fixed(p50), 15],
    [fixed(p99), 9],
    [fixed(max), 9],
    [fixed(load.latencyMs.p50), 14],
  ] as const
  const reasons = report.verdict === 'pass' ? '' : `   ${report.verdict}: ${report.reasons.join(' ')}`
  console.log(cells.map(([text, width]) => text.padStart(width)).join('') + reasons)
}

const fixed = (ms: number | null): string => (ms ?? Number.NaN).toFixed(2)
