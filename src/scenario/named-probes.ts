import { probeNames } from '../contract/probes.ts'
import { entriesOf } from '../lib/schema-mistakes.ts'
import type { Calls } from './resolve-calls.ts'
import { namesIn } from './turns.ts'

/** The calls with the probes that a sequence names: these need no call of their own. A call of that name wins. */
export function withNamedProbes(calls: Calls, stages: unknown): Calls {
  const named = (Array.isArray(stages) ? stages : []).flatMap((stage: unknown) => namesIn(entriesOf(stage).calls))
  const probes = probeNames.filter(name => named.includes(name) && !calls.has(name))
  return new Map([...calls, ...probes.map(probe => [probe, { kind: 'probe', probe }] as const)])
}
