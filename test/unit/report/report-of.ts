import type { JudgedRun } from '../../../src/judge/judge-run.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import { buildReport } from '../../../src/report/build.ts'
import type { Evidence } from '../../../src/report/document.ts'

import { judgedRunOf } from '../judge/judged-run.ts'

export const reportOf = (
  observations: readonly Observation[],
  changes: Partial<JudgedRun> = {},
  evidence: ReadonlyMap<number, Evidence> = new Map(),
) => buildReport(judgedRunOf(observations, changes), null, id => evidence.get(id) ?? null)
