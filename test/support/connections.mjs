import { appendFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { threadId } from 'node:worker_threads'

/**
 * Loaded with `--import` into the program and each of its threads. Blocks connections to other machines, and writes a line
 * for each connection to the file that `CONNECTIONS` names: the thread, and where the connection leads.
 */
const file = process.env.CONNECTIONS
const { connect } = Socket.prototype

/** Node.js passes a list of options and a callback, options, or a port and a host. Without a host, it is this machine. */
function hostOf([given, second]) {
  const first = Array.isArray(given) ? given[0] : given
  const host = typeof first === 'object' && first !== null ? first.host : second
  return typeof host === 'string' ? host : 'localhost'
}

Socket.prototype.connect = function (...given) {
  const host = hostOf(given)
  const isLoopback = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host)
  appendFileSync(file, `${threadId} ${isLoopback ? 'loopback' : `beyond: ${host}`}\n`)
  if (isLoopback) return Reflect.apply(connect, this, given)
  return this.destroy(new Error(`a connection to ${host} was blocked`))
}
