import { Socket } from 'node:net'
import { buildConnector, Client, type Dispatcher } from 'undici'
import { directReads, readDirectly } from './direct-reads.ts'

/** One connection to the target, opened when it is needed, which carries one request at a time. */
export type Lane = {
  readonly dispatch: (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => void
  /** Gives up opening the connection, which fails the request that waits for it. */
  readonly giveUp: () => void
  /** Whether the other side has ended the latest connection, and how. */
  readonly farEnd: () => 'open' | 'closed' | 'reset'
  readonly destroy: () => Promise<void>
}

export type Connections = {
  /** Calls `use` with a free lane: at once, or when one is given back. The result takes the request out of the queue. */
  readonly take: (use: (lane: Lane) => void) => () => void
  readonly giveBack: (lane: Lane) => void
  readonly close: () => Promise<void>
}

/**
 * At most `max` connections, the most recently used taken first. undici's own Pool looks through all of its clients for
 * each request, has one connect timeout for all, and after a failed connect works on with a client it no longer counts.
 */
export function connectionsTo(origin: string, max: number): Connections {
  const connector = buildConnector({ timeout: 0, allowH2: false, onread: directReads })
  const lanes: Lane[] = []
  const free: Lane[] = []
  // A list and not a Set, for the reason given at `abortWatch`; who leaves it stays in it as an empty entry.
  const queue: { use: ((lane: Lane) => void) | null }[] = []

  const open = (): Lane => {
    const lane = openLane(origin, connector)
    lanes.push(lane)
    return lane
  }

  return {
    take: use => {
      const lane = free.pop() ?? (lanes.length < max ? open() : null)
      if (lane !== null) {
        use(lane)
        return () => {}
      }
      const entry: (typeof queue)[number] = { use }
      queue.push(entry)
      return () => {
        entry.use = null
      }
    },
    giveBack: lane => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        if (next.use !== null) {
          next.use(lane)
          return
        }
      }
      free.push(lane)
    },
    close: async () => {
      await Promise.all(lanes.map(lane => lane.destroy()))
    },
  }
}

function openLane(origin: string, connector: buildConnector.connector): Lane {
  let opening: Socket | null = null
  let farEnd: 'open' | 'closed' | 'reset' = 'open'
  const client = new Client(origin, {
    // One request at a time on a connection; with 0 it would not be kept alive.
    pipelining: 1,
    // Both limits are kept by the exchange itself.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Less than the five seconds after which a Node server closes; a server that says otherwise is believed.
    keepAliveTimeout: 4_000,
    maxHeaderSize: 65_536,
    connect: (options, callback) => {
      farEnd = 'open'
      const socket: unknown = connector(options, (...result) => {
        opening = null
        callback(...result)
      })
      if (!(socket instanceof Socket)) return
      opening = socket
      readDirectly(socket)
      // undici takes a reset for the end of a body whose length was not announced, and the end of a connection inside a
      // body for a breach of protocol. These listeners hear of both before undici does.
      socket.on('end', () => {
        farEnd = 'closed'
      })
      socket.on('error', error => {
        if ('code' in error && error.code === 'ECONNRESET') farEnd = 'reset'
      })
    },
  })
  const giveUp = () => void opening?.destroy(new Error('given up'))
  return {
    dispatch: (options, handler) => void client.dispatch(options, handler),
    giveUp,
    farEnd: () => farEnd,
    destroy: async () => {
      giveUp()
      await client.destroy()
    },
  }
}
