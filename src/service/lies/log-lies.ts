import type { LogRow } from '../account.ts'
import { type Lies, lie } from './lie.ts'

/** A lie about the rows of the log. */
const rowsLie = (name: string, says: string, change: (rows: readonly LogRow[]) => readonly unknown[]) =>
  lie(name, says, () => ({ limitLogs: rows => ({ object: 'list', data: change(rows) }) }))

export const logLies = {
  'logs.layout': [
    rowsLie('log-times-in-words', 'The times of the log are in words.', rows =>
      rows.map(row => ({ ...row, timestamp: 'a minute ago' })),
    ),
    lie('log-in-an-array', 'The log is an array.', () => ({ limitLogs: rows => rows })),
    lie('log-without-end', 'The log shows more rows than it says.', honest => ({
      limitLogs: rows => honest.limitLogs(rows.flatMap(row => Array.from({ length: 60 }, () => row))),
    })),
  ],
  'logs.shows-429': [
    lie('log-of-chat-alone', 'Refusals of the RPC proxy are not logged.', (honest, { limitLogs }) => ({
      logRefusal: (refusals, refusal) => {
        if (refusal.modelId !== limitLogs.rpcId) honest.logRefusal(refusals, refusal)
      },
    })),
    lie('log-of-the-first-refusal', 'One refusal of each minute is logged.', honest => ({
      logRefusal: (refusals, refusal) => {
        const minute = Math.floor(refusal.atMs / 60_000)
        const isLogged = refusals.some(({ atMs }) => Math.floor(atMs / 60_000) === minute)
        if (!isLogged) honest.logRefusal(refusals, refusal)
      },
    })),
  ],
  'logs.no-phantom': [
    rowsLie('refusals-logged-twice', 'Every refusal is in the log twice.', rows => rows.flatMap(row => [row, row])),
    lie('admitted-requests-logged', 'The log shows a request that was admitted.', (honest, { limitLogs }) => ({
      finish: (reply, visit) => {
        const { account, route, arrivedMs } = visit
        const { 'x-ratelimit-remaining-requests': left } = reply.headers
        if (reply.status === 200 && route.kind === 'rpc' && account !== null && left === '50')
          honest.logRefusal(account.refusals, {
            modelId: limitLogs.rpcId,
            limit: 'RPM',
            atMs: arrivedMs,
          })
        return honest.finish(reply, visit)
      },
    })),
  ],
} as const satisfies Lies
