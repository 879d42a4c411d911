import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import { selfSigned } from './self-signed.ts'

/** A Redis of its own on a free port, which writes every change to disk before it answers. */
export type RealRedis = {
  readonly url: string
  readonly port: number
  /** Kills it, as if its machine failed. */
  readonly kill: () => Promise<void>
  /** Starts it again on the same port. `empty`: without its data. */
  readonly restart: (empty: boolean) => Promise<void>
}

/** `password`: what every client must give. `tls`: it speaks nothing else, with a certificate of its own authority. */
export type RedisSettings = { readonly password?: string; readonly tls?: boolean }

export async function startRedis(settings: RedisSettings = {}): Promise<RealRedis> {
  const port = await freePort()
  let folder = freshFolder()
  let child = await start(port, folder, settings)
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  return {
    url: `${settings.tls ? 'rediss' : 'redis'}://${settings.password ? `:${settings.password}@` : ''}127.0.0.1:${port}`,
    port,
    kill,
    restart: async empty => {
      if (empty) folder = freshFolder()
      child = await start(port, folder, settings)
    },
  }
}

const freshFolder = () => mkdtempSync(join(tmpdir(), 'turnpike-redis-'))

async function start(port: number, folder: string, { password, tls }: RedisSettings): Promise<ChildProcess> {
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '']
  const listen = tls ? ['--port', '0', '--tls-port', String(port), ...tlsFlags(folder)] : ['--port', String(port)]
  const flags = [...listen, '--bind', '127.0.0.1', '--dir', folder, ...durable]
  const child = spawn('redis-server', [...flags, ...(password ? ['--requirepass', password] : [])], { stdio: 'ignore' })
  for (let tries = 0; !(await isListening(port)); tries++) {
    if (tries === 100 || child.exitCode !== null) throw new Error('redis-server did not start')
    await pause(100)
  }
  return child
}

/** It is its own authority. */
function tlsFlags(folder: string): readonly string[] {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  writeFileSync(cert, selfSigned.cert)
  writeFileSync(key, selfSigned.key)
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert]
  return [...files, '--tls-auth-clients', 'no']
}

const isListening = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    const end = (found: boolean) => {
      socket.destroy()
      resolve(found)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })
