import { type OnReadOpts, Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { buildConnector, Client, type Dispatcher } from 'undici'

/** One connection to the target. It opens when it is first needed and carries one request at a time. */
export type Connection = {
  /** `readsSlowly`: reads the response in small parts, so that it can be held between them. */
  readonly dispatch: (
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    readsSlowly: boolean,
  ) => void
  /** Stops opening the connection, and fails the request that waits for it. */
  readonly giveUp: () => void
  /** Whether and how the target ended the latest socket. */
  readonly peerState: () => 'open' | 'closed' | 'reset'
  /**
   * Whether the latest socket was idle before its request, since it has carried a whole response or was opened in
   * advance. The target may close such a socket at any time.
   */
  readonly isReused: () => boolean
  readonly onResponse: () => void
  /** Stops reading, so that the target finds its buffers full; the result reads on. */
  readonly hold: () => () => void
  /** Opens a socket for the first request. Resolves with whether it is open; never rejects. */
  readonly preopen: () => Promise<boolean>
  readonly destroy: () => Promise<void>
}

/** How the target proves who it is; by default with a certificate. */
export type TlsSettings = Pick<ConnectionOptions, 'pskCallback' | 'ciphers' | 'maxVersion' | 'checkServerIdentity'>

export type Connections = {
  /** Calls `use` with a free connection, now or when one is released. The returned function leaves the queue. */
  readonly take: (use: (connection: Connection) => void) => () => void
  readonly release: (connection: Connection) => void
  /**
   * Opens up to `count` connections, a few at a time, without a request. Stops at the first one that the target does not
   * accept, and when `signal` aborts: whatever is missing opens when it is needed.
   */
  readonly preopen: (count: number, signal: AbortSignal) => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * At most `max` connections; the most recently used one is taken first. undici's own Pool searches all its clients for
 * each request, has one connect timeout for all, and after a failed connect keeps using a client that it no longer
 * counts.
 */
export function createConnections(origin: string, max: number, tls: TlsSettings = {}): Connections {
  const connector = buildConnector({ timeout: 0, allowH2: false, onread: directReads, ...tls })
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
    preopen: async (count, signal) => {
      let left = signal.aborted ? 0 : Math.min(count, max - connections.length)
      const opening = new Set<Connection>()
      signal.addEventListener('abort', () => {
        left = 0
        for (const connection of opening) connection.giveUp()
      })
      const openInTurn = async () => {
        while (left > 0) {
          left--
          const connection = open()
          opening.add(connection)
          if (!(await connection.preopen())) left = 0
          opening.delete(connection)
          // The first one is used first: a target that serves its connections in turn may not have accepted the last.
          free.unshift(connection)
        }
      }
      await Promise.all(Array.from({ length: preopenedAtOnce }, openInTurn))
    },
    close: async () => {
      await Promise.all(connections.map(connection => connection.destroy()))
    },
  }
}

/** How long a connection may be idle and still be reused, if the target does not announce a time. */
const maxIdleMs = 800
const keepAliveMarginMs = 500
const preopenedAtOnce = 16
/** A connection that was opened in advance and not used until then was not needed. */
const maxUnusedMs = 5_000

function createConnection(origin: string, connector: buildConnector.connector): Connection {
  let opening: Socket | null = null
  /** An open socket that has carried no request. */
  let preopened: Socket | null = null
  let peerState: 'open' | 'closed' | 'reset' = 'open'
  let isReused = false
  let latest: DirectSocket | null = null
  let manner: DirectSocket[typeof reading]
  const interim = createInterimReader()
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
      const socket = takePreopened()
      isReused = socket !== null
      // undici expects the socket after this function has returned.
      if (socket !== null) queueMicrotask(() => callback(null, socket))
      else connect(options, callback)
    },
  })

  function connect(options: buildConnector.Options, callback: buildConnector.Callback): void {
    const socket: unknown = connector(options, (...result) => {
      opening = null
      callback(...result)
    })
    if (!(socket instanceof Socket)) return
    opening = socket
    latest = socket
    readDirectly(socket, interim)
    latest[reading] = manner
    // undici treats a reset as the end of a body of unknown length, and the end of a connection inside a body as a
    // protocol error. These listeners run before undici's own and record the real state.
    socket.on('end', () => {
      peerState = 'closed'
    })
    socket.on('error', error => {
      if ('code' in error && error.code === 'ECONNRESET') peerState = 'reset'
    })
  }

  function takePreopened(): Socket | null {
    const socket = preopened
    preopened = null
    if (socket === null) return null
    socket.setTimeout(0)
    // Bytes that answer no request, such as a 408, come before a close.
    if (!socket.destroyed && socket.readable && socket.readableLength === 0) return socket
    socket.destroy()
    return null
  }

  const giveUp = () => void opening?.destroy(new Error('given up'))
  return {
    dispatch: (options, handler, readsSlowly) => {
      manner = readsSlowly ? 'slowly' : undefined
      if (latest !== null) latest[reading] = manner
      interim.expectResponse()
      client.dispatch(options, handler)
    },
    giveUp,
    peerState: () => peerState,
    isReused: () => isReused,
    onResponse: () => {
      isReused = true
    },
    hold: () => {
      const held = latest
      if (held === null) return () => {}
      held[reading] = 'held'
      return () => {
        if (held[reading] !== 'held') return
        held[reading] = 'slowly'
        held.emit('readable')
      }
    },
    preopen: () =>
      new Promise(resolve => {
        connect(addressOf(origin), (error, socket) => {
          if (error !== null) return resolve(false)
          preopened = socket
          socket.setTimeout(maxUnusedMs, () => socket.destroy())
          resolve(true)
        })
      }),
    destroy: async () => {
      giveUp()
      preopened?.destroy()
      await client.destroy()
    },
  }
}

function addressOf(origin: string): buildConnector.Options {
  const { protocol, host, hostname, port } = new URL(origin)
  return { protocol, host, hostname: hostname.replace(/^\[(.*)\]$/, '$1'), port }
}

/** The bytes of the latest read, while `readable` is being emitted for them. */
const arrived = Symbol('arrived')
const interimReader = Symbol('interim reader')

/** How a client that reads slowly does so: in small parts, or not now. Otherwise it reads at once what arrives. */
const reading = Symbol('reading')
/** The size of a part in bytes; the event of a token is mostly longer. */
const partBytes = 256

type DirectSocket = Socket & {
  [arrived]?: Buffer | null
  [interimReader]?: InterimReader
  [reading]?: 'slowly' | 'held' | undefined
}

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
export function readDirectly(socket: Socket, interim?: InterimReader): void {
  const direct: DirectSocket = socket
  if (interim !== undefined) direct[interimReader] = interim
  direct[arrived] = null
  direct.read = readArrived
}

/** Returns whether the reader wants more. */
function deliver(socket: DirectSocket, count: number): boolean {
  const bytes = Buffer.allocUnsafe(count)
  buffer.copy(bytes, 0, 0, count)
  socket[interimReader]?.rewrite(bytes)
  // Unread bytes come first.
  if (socket.readableLength > 0 || socket[reading] !== undefined) return socket.push(bytes)
  socket[arrived] = bytes
  socket.emit('readable')
  if (socket[arrived] === null) return true
  socket[arrived] = null
  return socket.push(bytes)
}

function readArrived(this: DirectSocket, size?: number): unknown {
  const bytes = this[arrived]
  if (bytes === null || bytes === undefined) {
    if (this[reading] === 'held' && size === undefined) return null
    if (this[reading] !== 'slowly' || size !== undefined) return Socket.prototype.read.call(this, size)
    return Socket.prototype.read.call(this, Math.min(partBytes, this.readableLength) || undefined)
  }
  this[arrived] = null
  return bytes
}

/**
 * Reads the heads of interim responses (1xx) in the bytes of a connection. undici skips all of them but `100 Continue`,
 * which it takes for a broken connection. A server may send one unasked (RFC 9110, section 15.2).
 */
type InterimReader = {
  /** A request was sent, so the next bytes begin a response. */
  readonly expectResponse: () => void
  /** Turns each `100` before the final response into a `102`, in place. `bytes` may begin and end anywhere. */
  readonly rewrite: (bytes: Buffer) => void
}

/** The digits of the status in `HTTP/1.1 100 Continue`. */
const firstDigit = 9
const lastDigit = 11

const LF = 0x0a
const CR = 0x0d
const [ZERO, ONE, TWO] = [0x30, 0x31, 0x32]

function createInterimReader(): InterimReader {
  /** `final`: no head of an interim response can follow. */
  let state: 'status' | 'headers' | 'final' = 'final'
  /** The position in the status line. */
  let at = 0
  let isZero = false
  let isLineEmpty = false

  const readStatus = (bytes: Buffer, index: number): void => {
    const byte = bytes[index]
    if (at === firstDigit && byte !== ONE) state = 'final'
    else if (at === firstDigit + 1) isZero = byte === ZERO
    else if (at === lastDigit) {
      if (isZero && byte === ZERO) bytes[index] = TWO
      state = 'headers'
      isLineEmpty = false
    }
    at++
  }

  const readHeader = (byte: number | undefined): void => {
    if (byte === LF && isLineEmpty) {
      state = 'status'
      at = 0
    } else if (byte === LF) isLineEmpty = true
    else if (byte !== CR) isLineEmpty = false
  }

  return {
    expectResponse: () => {
      state = 'status'
      at = 0
    },
    rewrite: bytes => {
      for (let index = 0; state !== 'final' && index < bytes.length; index++)
        if (state === 'status') readStatus(bytes, index)
        else readHeader(bytes[index])
    },
  }
}
