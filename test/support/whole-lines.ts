import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readLog } from '../../src/observation/log.ts'
import type { Observation } from '../../src/observation/observation.ts'
import { observationsIn } from '../../src/storage/run-directory.ts'

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

/** The observations of a run directory. */
export async function readObservations(directory: string): Promise<readonly Observation[]> {
  // Each worker has a log.
  const logs = readdirSync(directory).filter(name => name.startsWith('observations'))
  const observations: Observation[] = []
  for await (const observation of observationsIn(logs.map(log => join(directory, log)))) observations.push(observation)
  return observations
}
