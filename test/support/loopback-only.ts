import { Socket } from 'node:net'

/** Blocks and counts connections of this process to other machines, until it is restored. */
export function loopbackOnly(): { readonly blocked: readonly string[]; readonly restore: () => void } {
  const blocked: string[] = []
  const { connect } = Socket.prototype
  const isLoopback = (host: string) => /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host)
  Socket.prototype.connect = function (this: Socket, ...given: unknown[]) {
    // Node.js passes a list of options and a callback, or a port and a host.
    const [first, second] = Array.isArray(given[0]) ? given[0] : given
    const named = typeof first === 'object' && first !== null ? (first as { readonly host?: unknown }).host : second
    const host = typeof named === 'string' ? named : 'localhost'
    if (isLoopback(host)) return Reflect.apply(connect, this, given)
    blocked.push(host)
    return this.destroy(new Error(`a connection to ${host} was blocked`))
  } as typeof connect
  return {
    blocked,
    restore: () => {
      Socket.prototype.connect = connect
    },
  }
}
