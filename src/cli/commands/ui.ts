import { readForAWhile, startHistoryServer } from '../../history/history-server.ts'
import { plural } from '../../lib/format.ts'
import { listenMistake } from '../../outputs/http-server.ts'
import { openRunIndex } from '../../storage/run-index.ts'
import { exitCodes, integerFlag, text, type Values } from '../flags.ts'
import { serveUntilSignal } from './service.ts'

/** Serves the list of runs until a signal. */
export async function uiCommand(values: Values): Promise<number> {
  const folder = text(values, 'runs-dir') ?? 'runs'
  const port = integerFlag(values, 'port', { min: 0, max: 65_535 })
  const index = openRunIndex(folder)
  const { runs, left, isSaved } = await readForAWhile(index)
  if (left > 0) process.stderr.write(`The page reads ${plural(left, 'older report')} once. Later starts do not.\n`)
  if (!isSaved) process.stderr.write(`The index cannot be written into ${folder}, so every start reads all reports.\n`)
  const server = await startHistoryServer(index, port).catch(cause => {
    throw listenMistake(cause, { host: '127.0.0.1', port, hostFlag: '--port', portFlag: '--port' })
  })
  await serveUntilSignal(server.port, [
    `${plural(runs.length + left, 'run')} of ${folder} at http://127.0.0.1:${server.port}/ (^C stops it).`,
  ])
  await server.close()
  return exitCodes.pass
}
