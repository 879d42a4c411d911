import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type Ended, freshDirectory, turnpike } from './turnpike.ts'

export type WatchedRun = Ended & {
  /** How many threads opened connections on this machine. */
  readonly threads: number
  /** Where connections to other machines would have led. */
  readonly beyond: readonly string[]
}

/** Runs the built program. Connections to other machines are blocked and counted, in all of its threads. */
export async function watched(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<WatchedRun> {
  const CONNECTIONS = join(freshDirectory(), 'connections')
  const NODE_OPTIONS = `--import=${new URL('connections.mjs', import.meta.url)}`
  const ended = await turnpike(args, { ...environment, CONNECTIONS, NODE_OPTIONS })
  const lines = existsSync(CONNECTIONS) ? readFileSync(CONNECTIONS, 'utf8').trim().split('\n') : []
  const local = lines.filter(line => line.endsWith(' loopback'))
  const beyond = lines.filter(line => !local.includes(line)).map(line => line.split(' beyond: ')[1] ?? line)
  return { ...ended, threads: new Set(local.map(line => line.split(' ')[0])).size, beyond }
}

/** The text of each file of a run directory, by name. */
export function textsIn(directory: string): ReadonlyMap<string, string> {
  const textOf = (name: string): string => {
    const bytes = readFileSync(join(directory, name))
    return name.endsWith('.gz') ? gunzipSync(bytes).toString() : bytes.toString()
  }
  return new Map(readdirSync(directory).map(name => [name, textOf(name)]))
}

/** What wallets must have signed, in the texts of a run: sign-ins and payments are base64 JSON with a signature. */
export const signedIn = (texts: Iterable<string>): readonly string[] =>
  [...texts]
    .flatMap(text => text.match(/eyJ[\w+/-]{20,}={0,2}/g) ?? [])
    .map(encoded => Buffer.from(encoded, 'base64').toString())
    .filter(text => /"signature"|"payload"/.test(text))
