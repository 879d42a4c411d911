/** The library: what `import … from 'turnpike'` gives. Everything else of the package is private. */

import './lib/keep-fetch.ts'

export type { TargetDiff as Diff } from './diff/compare-sides.ts'
export { diffTargets as diff } from './diff/diff.ts'
export type { Mistake } from './lib/usage-error.ts'
export { UsageError } from './lib/usage-error.ts'
export { defineScenario } from './library/draft.ts'
export type {
  DiffOptions,
  DiffProgress,
  ProveOptions,
  ProveProgress,
  RunOptions,
  RunProgress,
  ShrinkProgress,
  ShrinkRunOptions as ShrinkOptions,
} from './library/options.ts'
export { runScenario as run } from './library/run-scenario.ts'
export type { LocalServiceOptions as ServiceOptions, StartedService } from './library/start-service.ts'
export { startReferenceService as startService } from './library/start-service.ts'
export type { GateProof as Proof } from './prove/prove.ts'
export { proveScenario as prove } from './prove/prove-scenario.ts'
export type { Report, Verdict } from './report/document.ts'
export type { Format } from './report/render/renderers.ts'
export { renderReport } from './report/render/renderers.ts'
export type { ScenarioInput as Scenario } from './scenario/schema.ts'
export type { ShrunkFinding as Shrunk } from './shrink/shrink-finding.ts'
export { shrinkRun as shrink } from './shrink/shrink-run.ts'
export type { ImportedTraffic as Imported, ImportOptions, ImportProgress } from './traffic/import-traffic.ts'
export { importTraffic } from './traffic/import-traffic.ts'
