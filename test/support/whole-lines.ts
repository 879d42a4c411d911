import { readLog } from '../../src/observation/log.ts'
import type { Observation } from '../../src/observation/observation.ts'

/** The lines of a log with each observation as a line of its own, so that a test can edit one and leave the others. */
export async function readWholeLines(file: string): Promise<readonly string[]> {
  const lines: string[] = []
  for await (const line of readLog(file)) {
    if (line.kind === 'observation') lines.push(JSON.stringify(line.observation))
    else if (line.kind === 'gap') lines.push(JSON.stringify({ skipped: line.skipped }))
    else lines.push(JSON.stringify(line.kind === 'head' ? line.head : line.end))
  }
  return lines
}

export async function readObservations(file: string): Promise<readonly Observation[]> {
  const observations: Observation[] = []
  for await (const line of readLog(file)) if (line.kind === 'observation') observations.push(line.observation)
  return observations
}
