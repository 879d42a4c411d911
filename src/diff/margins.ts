import { nearest, oneOf, UsageError } from '../lib/usage-error.ts'
import { isPercentileName, type PercentileName } from './paired-percentile.ts'

/** Times are compared by the geometric mean, which every value moves. */
export const defaultMargins = {
  latency: 0.1,
  ttft: 0.1,
  tpot: 0.1,
  icl: 0.1,
  'service-time': 0.1,
  failures: 0.01,
  refusals: 0.01,
  credits: 0.01,
  cost: 0.01,
} as const satisfies Readonly<Record<string, number>>

export type MarginName = keyof typeof defaultMargins

/** How much worse NEW may be in each measure, as a ratio; for shares, as a difference. */
export type Margins = Readonly<Partial<Record<MarginName | PercentileName, number>>>

const names = Object.keys(defaultMargins) as readonly MarginName[]
const maxMargin = 1

/** The margins of `--margin`, such as `ttft=5%`. Throws a UsageError. */
export function parseMargins(written: readonly string[]): Margins {
  const given = written.map(each => {
    const [, name = '', text = ''] = /^([^=]*)=(.*)$/s.exec(each) ?? []
    const mistake = { where: '--margin', got: JSON.stringify(each) }
    if (!each.includes('=')) throw new UsageError({ ...mistake, expected: 'a measure and its margin, such as ttft=5%' })
    if (!isMarginName(name) && !isPercentileName(name)) {
      const expected = `a margin of ${oneOf([...names, 'a percentile from p50 to p99.9 such as p95.ttft'])}`
      throw new UsageError({ ...mistake, expected, ...nearest(name, names) })
    }
    const [, percent] = /^(\d+(?:\.\d+)?) ?%$/.exec(text) ?? []
    const margin = Number(percent) / 100
    if (margin > 0 && margin <= maxMargin) return [name, margin] as const
    const hint = /^\d+(\.\d+)?$/.test(text) ? { hint: `did you mean "${name}=${text}%"?` } : {}
    throw new UsageError({ ...mistake, expected: `a share above 0% and up to 100%, such as ${name}=5%`, ...hint })
  })
  const repeated = given.find(([name], index) => given.findIndex(([other]) => other === name) !== index)
  if (repeated !== undefined)
    throw new UsageError({ where: '--margin', got: `${repeated[0]} twice`, expected: 'each measure once' })
  return Object.fromEntries(given)
}

const isMarginName = (name: string): name is MarginName => names.some(each => each === name)
