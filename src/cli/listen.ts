import { UsageError } from '../lib/usage-error.ts'

/** An address to listen on, and the flags that state it. */
type Listening = {
  readonly host: string
  readonly port: number
  readonly hostFlag: string
  readonly portFlag: string
}

/** The UsageError for an address that this program cannot listen on, with the number of the port. */
export function listenMistake(cause: unknown, { host, port, hostFlag, portFlag }: Listening): UsageError {
  const code = String((cause as NodeJS.ErrnoException).code)
  if (['ENOTFOUND', 'EADDRNOTAVAIL', 'EAI_AGAIN', 'EINVAL'].includes(code))
    return new UsageError({ where: hostFlag, got: JSON.stringify(host), expected: 'an address of this machine' })
  const why = { EADDRINUSE: 'another program uses', EACCES: 'only an administrator may use' }[code]
  const got = why === undefined ? `port ${port} (${code})` : `port ${port}, which ${why}`
  return new UsageError({ where: portFlag, got, expected: 'a free port, or 0 for any free one' })
}
