import { afterAll, describe, expect, test } from 'vitest'
import type { ClauseId } from '../../src/contract/clauses.ts'
import { allLies, lieByName } from '../../src/service/lies/lies.ts'
import { distantNetwork } from '../support/distant-network.ts'
import { isNightly, todays } from '../support/nightly.ts'
import { virtualRun } from '../support/virtual-run.ts'

/** The seed of the network, and which lies the sample of a night has. */
const seed = Number(process.env.TURNPIKE_SAMPLE_SEED ?? '1')
/** By night the sample has one in this many lies, and by day a quarter of them. */
const step = 7

/** The short scenarios come first. */
const scenarios = ['conformance', 'smoke', 'billing', 'idempotency', 'rpc-only', 'abuse-block', 'rate-limit'] as const

const near = (name: string) => ({ scenario: `scenarios/${name}.yaml` })
const distant = (name: string) => ({ ...near(name), network: distantNetwork(seed), skewMs: 1_000 })

/** The clauses that each scenario exercises, with an honest service. */
const exercised = new Map<string, ReadonlySet<ClauseId>>()
for (const name of scenarios) {
  const { report } = await virtualRun(near(name))
  exercised.set(name, new Set(report.clauses.filter(({ judged }) => judged > 0).map(({ id }) => id)))
}
const exercising = (clause: ClauseId) => scenarios.filter(name => exercised.get(name)?.has(clause))
const shown = allLies.filter(({ clause }) => exercising(clause).length > 0)
const sample = isNightly ? shown.filter((_, index) => index % step === seed % step) : todays(shown, 4 * step)

/**
 * These show in requests that overlap with no other one and of which none is lost. Behind the network of this test there are too
 * few of them.
 */
const mayBeHidden = [
  'refuses-past-the-reset',
  'window-ends-late',
  'failure-counts-for-a-minute',
  'failure-counts-for-20-seconds',
  'block-after-a-burst-alone',
  'block-one-failure-early',
]

/** A lost request may hide which request was charged; that money is missing shows anyway. */
const alsoShown: ClauseId = 'billing.conservation'

let caught = 0

describe('a lie that a scenario shows is shown behind a far network, too', () => {
  test.each(sample)('$clause: $name', async ({ clause, name }) => {
    const lie = lieByName(name)
    if (lie === undefined) throw new Error(`unknown lie: ${name}`)
    const missed: string[] = []
    for (const scenario of exercising(clause)) {
      const { report } = await virtualRun({ ...distant(scenario), lies: [lie] })
      const found = report.findings.map(finding => finding.clause)
      const declared: readonly string[] = [clause, alsoShown, ...lie.alsoViolates]
      expect(
        found.filter(each => !declared.includes(each)),
        `further clauses failed in ${scenario}`,
      ).toEqual([])
      if (found.includes(clause)) {
        expect(report.verdict).toBe('fail')
        caught++
        return
      }
      const { report: ofNear } = await virtualRun({ ...near(scenario), lies: [lie] })
      if (ofNear.findings.some(finding => finding.clause === clause)) missed.push(scenario)
    }
    if (!mayBeHidden.includes(name)) expect(missed, `${name} shows only without the network`).toEqual([])
  })
})

test('most lies of the sample were caught', () => expect(caught / sample.length).toBeGreaterThan(0.8))

afterAll(() => void process.stdout.write(`\n${caught} of ${sample.length} lies caught behind a far network\n`))
