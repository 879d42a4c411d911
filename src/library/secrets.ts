import { createMask, isStrong, type Mask, textsOfSecrets } from '../lib/mask/mask.ts'
import { UsageError } from '../lib/usage-error.ts'
import { headersVariable, otlpHeaderSecrets } from '../outputs/otlp/receiver.ts'
import type { Variables } from '../produce/callers/api-keys.ts'

/** Variables of Turnpike that hold secrets, separated by spaces, commas or line ends. */
const secretVariable = /^TURNPIKE_(?:[A-Z0-9_]*_)?(?:KEYS?|TOKENS?|CREDENTIALS|SIGNATURES?)$/

/** What a profile adds to requests. */
const additionVariable = /^TURNPIKE_(?:HEADER|QUERY)_/

/** The secrets in the environment: keys, and the credentials of receivers, also without their user. */
export function environmentSecrets(environment: Variables): readonly string[] {
  return Object.entries(environment).flatMap(([name, value]) => {
    // Not every value there is a secret.
    if (name === headersVariable) return otlpHeaderSecrets(value ?? '').filter(isStrong)
    if (additionVariable.test(name)) return textsOfSecrets([value ?? ''])
    if (!secretVariable.test(name) || value === undefined) return []
    return value
      .split(/[\s,]+/)
      .flatMap(secret => (secret.includes(':') ? [secret, secret.slice(secret.indexOf(':') + 1)] : [secret]))
      .filter(secret => secret !== '')
  })
}

/** Secrets that no text may show. They are added as they become known. */
export type Secrets = {
  /** Hides further secrets. A weak one could be a word of a text, so it is not hidden. */
  readonly hide: (secrets: readonly string[]) => void
  /** A text without the secrets. */
  readonly text: (text: string) => string
  /** Plain data without the secrets; the same value if it contains none. */
  readonly json: <Value>(value: Value) => Value
  readonly areIn: (text: string) => boolean
}

export function createSecrets(first: readonly string[] = []): Secrets {
  const known = new Set<string>()
  let mask: Mask = createMask([])
  const hide = (secrets: readonly string[]) => {
    const before = known.size
    for (const secret of secrets) if (isStrong(secret)) known.add(secret)
    if (known.size > before) mask = createMask([...known])
  }
  hide(first)
  return {
    hide,
    text: text => mask.text(text),
    json: value => {
      const text = JSON.stringify(value)
      return mask.isIn(text) ? mask.json(JSON.parse(text) as typeof value) : value
    },
    areIn: text => mask.isIn(text),
  }
}

/** Throws a UsageError if a file contains one of the secrets, because plans and reports quote it. */
export function assertNoSecret(secrets: Secrets, file: string, content: unknown, kind: 'scenario' | 'profile'): void {
  if (!secrets.areIn(JSON.stringify(content))) return
  throw new UsageError({
    where: file,
    got: 'a secret of this run, such as a key in TURNPIKE_KEYS',
    expected: `no secret in a ${kind}`,
    hint: 'plans and reports would show it; set TURNPIKE_KEYS, or name a file in callers.keys-file',
  })
}

/** The note about keys that are too short or too plain to be masked everywhere; null if there are none. */
export function weakSecretsNote(secrets: readonly string[]): string | null {
  const count = new Set(secrets.filter(secret => !isStrong(secret))).size
  if (count === 0) return null
  const [keys, are] = count === 1 ? ['1 key', 'is'] : [`${count} keys`, 'are']
  return `Warning: ${keys} ${are} short or a plain word, and so ${are} masked only as whole words in responses. Use random keys of at least 16 characters.`
}
