import { UsageError } from '../lib/usage-error.ts'
import { plural } from '../metrics/quantity.ts'
import { type LogLine, readLog } from '../observation/log.ts'
import { openRecordedRun, type RecordedRun } from '../report/run-directory.ts'

/** A run that has kept all of its observations. Throws a UsageError when it has not. */
export async function openWholeRecord(directory: string): Promise<RecordedRun> {
  const run = await openRecordedRun(directory)
  const { record } = run.plan
  if (record === 'all') return run
  throw new UsageError({ where: directory, got: `a run with "record: ${record}"`, expected: 'one with "record: all"' })
}

/** The lines of a record. Throws a UsageError where some were left out: who counts them needs every one. */
export async function* wholeRecord(file: string): AsyncIterable<Exclude<LogLine, { readonly kind: 'gap' }>> {
  for await (const line of readLog(file)) {
    if (line.kind === 'gap') {
      throw new UsageError({
        where: file,
        got: `a record that leaves out ${plural(line.leftOut, 'observation')}, for the disk did not keep up`,
        expected: 'a whole one',
      })
    }
    yield line
  }
}
