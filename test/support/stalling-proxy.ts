import { connect, createServer, type Socket } from 'node:net'

/** A network path to a port of this machine that can fail in two ways. */
export type StallingProxy = {
  readonly port: number
  /** Keeps all connections, and moves no byte. */
  readonly stall: () => void
  /** Ends all connections, and refuses new ones. */
  readonly drop: () => void
  /** As before the failure. */
  readonly restore: () => void
  readonly close: () => void
}

export async function startStallingProxy(to: number): Promise<StallingProxy> {
  let state: 'open' | 'stalled' | 'dropped' = 'open'
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, near => {
    if (state === 'dropped') return void near.resetAndDestroy()
    const far = connect({ port: to, host: '127.0.0.1', noDelay: true })
    for (const [from, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', bytes => other.write(bytes))
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        other.destroy()
      })
      if (state === 'stalled') from.pause()
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const drop = () => {
    state = 'dropped'
    for (const socket of sockets) socket.resetAndDestroy()
  }
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    stall: () => {
      state = 'stalled'
      for (const socket of sockets) socket.pause()
    },
    drop,
    restore: () => {
      state = 'open'
      for (const socket of sockets) socket.resume()
    },
    close: () => {
      drop()
      server.close()
    },
  }
}
