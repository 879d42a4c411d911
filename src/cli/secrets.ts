import { createMask, isStrong, type Mask } from '../lib/mask/mask.ts'
import { UsageError } from '../lib/usage-error.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Variables of Turnpike that hold secrets, separated by spaces, commas or line ends. */
const secretVariable = /^TURNPIKE_(?:[A-Z0-9_]*_)?(?:KEYS?|CREDENTIALS|SIGNATURES?)$/

/** The secrets in the environment: keys, and the credentials of receivers, also without their user. */
export function environmentSecrets(environment: Environment): readonly string[] {
  return Object.entries(environment).flatMap(([name, value]) => {
    if (!secretVariable.test(name) || value === undefined) return []
    return value
      .split(/[\s,]+/)
      .flatMap(secret => (secret.includes(':') ? [secret, secret.slice(secret.indexOf(':') + 1)] : [secret]))
      .filter(secret => secret !== '')
  })
}

/** The secrets of this process that its own texts must not show. A weak one could be a word of such a text. */
let known: readonly string[] = []
let mask: Mask = createMask(known)

/** Hides further secrets in all that this process prints from now on. */
export function hideSecrets(secrets: readonly string[]): void {
  const added = secrets.filter(secret => isStrong(secret) && !known.includes(secret))
  if (added.length === 0) return
  known = [...known, ...added]
  mask = createMask(known)
}

/** A text without the secrets of this process. */
export const hidden = (text: string): string => mask.text(text)

/** Plain data without the secrets of this process; the same value if it contains none. */
export function hiddenIn<Value>(value: Value): Value {
  const text = JSON.stringify(value)
  return mask.isIn(text) ? mask.json(JSON.parse(text) as Value) : value
}

/** Throws a UsageError if a file contains a secret of this process, because plans and reports quote it. */
export function assertNoSecret(file: string, content: unknown, kind: 'scenario' | 'profile'): void {
  if (!mask.isIn(JSON.stringify(content))) return
  throw new UsageError({
    where: file,
    got: 'a secret of this run, such as a key of TURNPIKE_KEYS',
    expected: `no secret in a ${kind}`,
    hint: 'plans and reports show its content; set TURNPIKE_KEYS, or name a file in callers.keys-file',
  })
}

type TextStream = Pick<NodeJS.WriteStream, 'write'>

/** Hides the secrets of this process in everything that is written to the stream. */
export function maskWrites(stream: TextStream): void {
  const write = stream.write.bind(stream) as (text: unknown, ...rest: readonly unknown[]) => boolean
  const masked = (data: unknown, ...rest: readonly unknown[]): boolean =>
    write(typeof data === 'string' ? hidden(data) : data instanceof Uint8Array ? hiddenBytes(data) : data, ...rest)
  stream.write = masked as TextStream['write']
}

function hiddenBytes(bytes: Uint8Array): Uint8Array | string {
  const text = Buffer.from(bytes).toString('utf8')
  return mask.isIn(text) ? hidden(text) : bytes
}

/** The note about keys that are too short or too plain to be masked everywhere; null if there are none. */
export function weakSecretsNote(secrets: readonly string[]): string | null {
  const count = new Set(secrets.filter(secret => !isStrong(secret))).size
  if (count === 0) return null
  const [keys, are] = count === 1 ? ['1 key', 'is'] : [`${count} keys`, 'are']
  return `Warning: ${keys} ${are} short or a plain word, and so ${are} masked only as whole words in responses. Use random keys of at least 16 characters.`
}
