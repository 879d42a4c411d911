import { type Random, randomStream } from '../lib/random.ts'

/** Ids that never repeat within a service: a prefix drawn from the seed, then a counter. */
export type Identifiers = {
  /** 16 hexadecimal digits and the name of a data center. */
  readonly ray: () => string
  /** 32 alphanumerics. */
  readonly requestId: () => string
  readonly completionId: () => string
}

export function identifiers(seed: number): Identifiers {
  const random = randomStream(seed, 'identifiers')
  const rayStart = draw(random, '0123456789abcdef', 7)
  const requestStart = draw(random, alphanumerics, 23)
  const completionStart = draw(random, alphanumerics, 15)
  let rays = 0
  let requests = 0
  let completions = 0
  return {
    ray: () => `${rayStart}${(++rays).toString(16).padStart(9, '0')}-REF`,
    requestId: () => requestStart + (++requests).toString(36).padStart(9, '0'),
    completionId: () => `chatcmpl-${completionStart}${(++completions).toString(36).padStart(9, '0')}`,
  }
}

const alphanumerics = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const draw = (random: Random, letters: string, length: number): string =>
  Array.from({ length }, () => letters.charAt(random.int(letters.length))).join('')

/** Formats Unix milliseconds as an HTTP date, at most once per second. */
export function httpDates(): (wallMs: number) => string {
  let second = Number.NaN
  let text = ''
  return wallMs => {
    const now = Math.floor(wallMs / 1000)
    if (now !== second) {
      second = now
      text = new Date(now * 1000).toUTCString()
    }
    return text
  }
}
