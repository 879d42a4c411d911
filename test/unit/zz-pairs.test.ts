import { test } from 'vitest'
import { clauses } from '../../src/contract/clauses.ts'
import { allLies, lieByName } from '../../src/service/lies/lies.ts'
import { settings } from '../support/settings.ts'
import { virtualRun } from '../support/virtual-run.ts'
const set = process.env.SET ?? 'rate-limit'
const maskers = (process.env.MASKERS ?? '').split(' ')
const masked = (process.env.MASKED ?? '').split(' ')
const by = (n: string) => { const l = lieByName(n); if (!l) throw new Error(n); return { ...l, clause: allLies.find(e => e.name === n)!.clause } }
test('pairs', async () => {
  let ok = 0
  for (const setting of settings.filter(s => new RegExp(`^(${set})$`).test(s.name)))
  for (const a of maskers) for (const b of masked) {
    const { report } = await virtualRun({ ...setting.run, lies: [by(a), by(b)] })
    const failed = report.findings.map(f => f.clause as string)
    const state = (mine: string, other: string) => {
      const l = by(mine)
      const own = [l.clause, ...l.alsoViolates] as string[]
      if (own.some(c => failed.includes(c))) return 'named'
      const t = report.clauses.find(c => c.id === l.clause)
      const o = by(other)
      const others = [o.clause, ...o.alsoViolates] as string[]
      if (t?.because?.clause && others.includes(t.because.clause)) return 'masked'
      return `BAD ${l.clause} ${t?.verdict} ${t?.judged} ${JSON.stringify(t?.because)}`
    }
    const [x, y] = [state(a, b), state(b, a)]
    if (x.startsWith('BAD') || y.startsWith('BAD')) console.log(`\n@@ ${setting.name} ${a} + ${b}: ${x} | ${y} | failed ${[...new Set(failed)]}`)
    else { ok++; if (process.env.SHOW) console.log(`\n@@ ok ${a} + ${b}: ${x} ${y}`) }
  }
  console.log('\n@@ OK', ok)
}, 600_000)
