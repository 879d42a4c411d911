import { plural } from '../lib/format.ts'
import { UsageError } from '../lib/usage-error.ts'
import { hasHeader, type LogLine, readLog } from '../observation/log.ts'
import { openRecordedRun, type RecordedRun } from '../report/run-directory.ts'

/** A run that has kept all of its observations. Throws a UsageError when it has not. */
export async function openWholeRecord(directory: string): Promise<RecordedRun> {
  const run = await openRecordedRun(directory)
  const { record } = run.plan
  if (record === 'all') return run
  throw new UsageError({ where: directory, got: `a run with "record: ${record}"`, expected: 'one with "record: all"' })
}

/** The lines of a record, log after log. Throws a UsageError where some were left out: who counts them needs every one. */
export async function* wholeRecord(logs: readonly string[]): AsyncIterable<Exclude<LogLine, { readonly kind: 'gap' }>> {
  for (const file of logs.filter(hasHeader))
    for await (const line of readLog(file)) {
      if (line.kind === 'gap') assertWhole(file, line.leftOut)
      else yield line
    }
}

/** Throws a UsageError where observations were left out of a log. */
export function assertWhole(file: string, leftOut: number): void {
  if (leftOut === 0) return
  throw new UsageError({
    where: file,
    got: `a record that leaves out ${plural(leftOut, 'observation')}, for the disk did not keep up`,
    expected: 'a whole one',
  })
}
