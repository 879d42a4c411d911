import { cpus } from 'node:os'
import { type ComparedRun, compareRuns } from '../../src/judge/compare/compare-runs.ts'
import { type ChangeVerdict, type Comparison, defaultCriteria } from '../../src/judge/compare/comparison.ts'
import { runChild } from './support/child.ts'
import type { Bench, Figure } from './support/figure.ts'

const slowdown = 0.1
/** The number of preceding nights that a night is compared with. */
const baselineCounts = [1, 5]
const maxBaselines = Math.max(...baselineCounts)
const nightsOfChild = 10

/**
 * The error rates of the gate. Each night is compared with those before it: how often is it called worse without a
 * change, and how often is a slowdown of 10 % found? Runs in virtual time, with the machine noise of `nightNoise`.
 */
export const benchCompare: Bench = async ({ short }) => {
  const [same, slow] = short ? [20, 10] : [200, 100]
  const honest = await runNights(0, same + maxBaselines, 0)
  const slower = await runNights(10_000, slow, slowdown)
  console.log(`\nThe nightly scenario compared with the nights before it; ${describeNoise(honest)}`)
  console.log('                    baselines  regressed  unchanged  improved  cannot tell')
  const figures: Figure[] = []
  for (const baselines of baselineCounts) {
    const before = (night: number) => honest.slice(night + maxBaselines - baselines, night + maxBaselines)
    const unchanged = honest.slice(maxBaselines).map((run, night) => compareRuns(before(night), run, defaultCriteria))
    const changed = slower.map((run, night) => compareRuns(before(night), run, defaultCriteria))
    show('unchanged', baselines, unchanged)
    show('10 % slower', baselines, changed)
    const against = `against ${baselines === 1 ? 'one baseline' : `${baselines} baselines`}`
    figures.push(
      {
        name: `called worse without a change, ${against}`,
        value: share(unchanged, 'regressed'),
        unit: '',
        aim: { kind: 'at-most', bound: 0.05 },
      },
      {
        name: `10 % slower and called worse, ${against}`,
        value: share(changed, 'regressed'),
        unit: '',
        aim: { kind: 'at-least', bound: 0.95 },
      },
    )
  }
  return figures
}

/** One child process per core. */
async function runNights(first: number, count: number, slower: number): Promise<readonly ComparedRun[]> {
  const starts = Array.from({ length: Math.ceil(count / nightsOfChild) }, (_, part) => first + part * nightsOfChild)
  const parts = new Map<number, readonly ComparedRun[]>()
  const left = [...starts]
  const work = async () => {
    for (let start = left.shift(); start !== undefined; start = left.shift()) {
      const nights = Math.min(nightsOfChild, first + count - start)
      parts.set(
        start,
        await runChild<readonly ComparedRun[]>('./programs/nights.js', [start, nights, slower].map(String)),
      )
    }
  }
  await Promise.all(cpus().map(work))
  return starts.flatMap(start => parts.get(start) ?? [])
}

const share = (comparisons: readonly Comparison[], verdict: ChangeVerdict): number =>
  comparisons.filter(each => each.verdict === verdict).length / comparisons.length

function show(name: string, baselines: number, comparisons: readonly Comparison[]): void {
  const count = (verdict: ChangeVerdict) => String(comparisons.filter(each => each.verdict === verdict).length)
  const cells = (['regressed', 'unchanged', 'improved', 'cannot-tell'] as const).map(count)
  const [regressed = '', unchanged = '', improved = '', cannotTell = ''] = cells
  console.log(
    `  ${name.padEnd(18)}${String(baselines).padStart(9)}${regressed.padStart(11)}${unchanged.padStart(11)}${improved.padStart(10)}${cannotTell.padStart(13)}`,
  )
}

/** The standard deviation of the medians between unchanged nights. */
function describeNoise(nights: readonly ComparedRun[]): string {
  const [first, ...others] = nights
  if (first === undefined) return ''
  const rows = others.flatMap(night => compareRuns([first], night, defaultCriteria).rows)
  return [...new Set(rows.filter(({ measure }) => measure === 'latency p50').map(({ call }) => call))]
    .map(call => {
      const medians = rows
        .filter(row => row.call === call && row.stage === 'steady' && row.measure === 'latency p50')
        .map(({ run }) => Math.log(run ?? Number.NaN))
      const mean = medians.reduce((sum, value) => sum + value, 0) / medians.length
      const variance = medians.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (medians.length - 1)
      return `p50 of ${call} ± ${(100 * Math.sqrt(variance)).toFixed(1)} %`
    })
    .join(', ')
}
