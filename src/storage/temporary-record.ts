import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { whyUnreadable } from '../lib/read-text.ts'
import { UsageError } from '../lib/usage-error.ts'
import { logFiles, observationsIn, type ReservedDirectory } from './run-directory.ts'

/**
 * A record of a run that ends with it: the logs, from which the report quotes the requests of its findings. No other file
 * is written. Throws a UsageError if the folder of temporary files is not writable.
 */
export function reserveTemporaryRecord(): ReservedDirectory {
  const { path, remove } = temporaryFolder()
  return {
    create: (_, workers) => {
      const logs = logFiles(path, workers)
      return { path, logs, readObservations: () => observationsIn(logs), write: async () => [] }
    },
    release: remove,
  }
}

/** A new folder that its owner removes. Throws a UsageError. */
export function temporaryFolder(): { readonly path: string; readonly remove: () => void } {
  const folder = tmpdir()
  try {
    const path = mkdtempSync(join(folder, 'turnpike-'))
    return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
  } catch (cause) {
    throw new UsageError({ where: folder, got: whyUnreadable(cause), expected: 'a writable folder of temporary files' })
  }
}
