import { type OnReadOpts, Socket } from 'node:net'
import { buildConnector, Client, type Dispatcher } from 'undici'

/** One connection to the target. It opens when it is first needed and carries one request at a time. */
export type Connection = {
  readonly dispatch: (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => void
  /** Stops opening the connection, and fails the request that waits for it. */
  readonly giveUp: () => void
  /** Whether and how the target ended the latest socket. */
  readonly peerState: () => 'open' | 'closed' | 'reset'
  /** Whether the latest socket has carried a whole response. The target may close such a socket at any time. */
  readonly isReused: () => boolean
  readonly onResponse: () => void
  readonly destroy: () => Promise<void>
}

export type Connections = {
  /** Calls `use` with a free connection, now or when one is released. The returned function leaves the queue. */
  readonly take: (use: (connection: Connection) => void) => () => void
  readonly release: (connection: Connection) => void
  readonly close: () => Promise<void>
}

/**
 * At most `max` connections; the most recently used one is taken first. undici's own Pool searches all its clients for
 * each request, has one connect timeout for all, and after a failed connect keeps using a client that it no longer
 * counts.
 */
export function createConnections(origin: string, max: number): Connections {
  const connector = buildConnector({ timeout: 0, allowH2: false, onread: directReads })
  const connections: Connection[] = []
  const free: Connection[] = []
  // A list and not a Set; `createAbortListeners` explains why. A request that leaves becomes an empty entry.
  const queue: { use: ((connection: Connection) => void) | null }[] = []

  const open = (): Connection => {
    const connection = createConnection(origin, connector)
    connections.push(connection)
    return connection
  }

  return {
    take: use => {
      const connection = free.pop() ?? (connections.length < max ? open() : null)
      if (connection !== null) {
        use(connection)
        return () => {}
      }
      const entry: (typeof queue)[number] = { use }
      queue.push(entry)
      return () => {
        entry.use = null
      }
    },
    release: connection => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        if (next.use !== null) {
          next.use(connection)
          return
        }
      }
      free.push(connection)
    },
    close: async () => {
      await Promise.all(connections.map(connection => connection.destroy()))
    },
  }
}

/** How long a connection may be idle and still be reused, if the target does not announce a time. */
const maxIdleMs = 800
const keepAliveMarginMs = 500

function createConnection(origin: string, connector: buildConnector.connector): Connection {
  let opening: Socket | null = null
  let peerState: 'open' | 'closed' | 'reset' = 'open'
  let isReused = false
  const client = new Client(origin, {
    // One request at a time on a connection. With 0 the connection would not be kept alive.
    pipelining: 1,
    // The exchange has its own timers for both.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Some servers close idle connections after a second without announcing it. A request that meets the close is lost,
    // and most requests must not be repeated. A new connection costs less.
    keepAliveTimeout: maxIdleMs,
    // undici follows a target that announces its time, less this margin for the way of the last request.
    keepAliveTimeoutThreshold: keepAliveMarginMs,
    maxHeaderSize: 65_536,
    connect: (options, callback) => {
      peerState = 'open'
      isReused = false
      const socket: unknown = connector(options, (...result) => {
        opening = null
        callback(...result)
      })
      if (!(socket instanceof Socket)) return
      opening = socket
      readDirectly(socket)
      // undici treats a reset as the end of a body of unknown length, and the end of a connection inside a body as a
      // protocol error. These listeners run before undici's own and record the real state.
      socket.on('end', () => {
        peerState = 'closed'
      })
      socket.on('error', error => {
        if ('code' in error && error.code === 'ECONNRESET') peerState = 'reset'
      })
    },
  })
  const giveUp = () => void opening?.destroy(new Error('given up'))
  return {
    dispatch: (options, handler) => void client.dispatch(options, handler),
    giveUp,
    peerState: () => peerState,
    isReused: () => isReused,
    onResponse: () => {
      isReused = true
    },
    destroy: async () => {
      giveUp()
      await client.destroy()
    },
  }
}

/** The bytes of the latest read, while `readable` is being emitted for them. */
const arrived = Symbol('arrived')

type DirectSocket = Socket & { [arrived]?: Buffer | null }

/** All sockets read into this buffer. The bytes of a read are copied out of it before the next read. */
const buffer = Buffer.allocUnsafeSlow(65_536)

/**
 * Connection options for a socket that is then passed to `readDirectly`. By default Node allocates 64 KiB for each read
 * and sends the bytes through the queue of a stream. That takes a tenth of the time that undici spends on a token.
 */
export const directReads: OnReadOpts = {
  buffer,
  // Node calls this as a method of the socket.
  callback(this: unknown, count: number) {
    if (!(this instanceof Socket)) throw new TypeError('read for no socket')
    return deliver(this, count)
  },
}

/** A reader that calls `read` on `readable` gets each read immediately. Otherwise the socket is an ordinary stream. */
export function readDirectly(socket: Socket): void {
  const direct: DirectSocket = socket
  direct[arrived] = null
  direct.read = readArrived
}

/** Returns whether the reader wants more. */
function deliver(socket: DirectSocket, count: number): boolean {
  const bytes = Buffer.allocUnsafe(count)
  buffer.copy(bytes, 0, 0, count)
  // Unread bytes come first.
  if (socket.readableLength > 0) return socket.push(bytes)
  socket[arrived] = bytes
  socket.emit('readable')
  if (socket[arrived] === null) return true
  socket[arrived] = null
  return socket.push(bytes)
}

function readArrived(this: DirectSocket, size?: number): unknown {
  const bytes = this[arrived]
  if (bytes === null || bytes === undefined) return Socket.prototype.read.call(this, size)
  this[arrived] = null
  return bytes
}
