import { startHistoryServer } from '../../history/history-server.ts'
import { plural } from '../../lib/format.ts'
import { readRunIndex } from '../../storage/run-index.ts'
import { exitCodes, integerFlag, text, type Values } from '../flags.ts'
import { listenMistake } from '../listen.ts'
import { serveUntilSignal } from './service.ts'

/** Fewer reports take less than a second. */
const manyReports = 200

/** Serves the list of runs until a signal. */
export async function uiCommand(values: Values): Promise<number> {
  const folder = text(values, 'runs-dir') ?? 'runs'
  const port = integerFlag(values, 'port', { min: 0, max: 65_535 })
  const { runs, isSaved } = await readRunIndex(folder, reports => {
    if (reports > manyReports)
      process.stderr.write(`Reading ${plural(reports, 'report')} once. The next start is faster.\n`)
  })
  if (!isSaved) process.stderr.write(`The index cannot be written into ${folder}, so every start reads all reports.\n`)
  const server = await startHistoryServer(folder, port).catch(cause => {
    throw listenMistake(cause, { host: '127.0.0.1', port, hostFlag: '--port', portFlag: '--port' })
  })
  await serveUntilSignal(server.port, [
    `${plural(runs.length, 'run')} of ${folder} at http://127.0.0.1:${server.port}/ (^C stops it).`,
  ])
  await server.close()
  return exitCodes.pass
}
