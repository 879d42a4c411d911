const maxHeaders = 256
export const maxValueLength = 512
/** JSON in base64, such as a payment offer, is unreadable if it is cut. */
const maxEncodedLength = 8_192

/**
 * The prototype of header records. It has no properties, so a header called `constructor` is absent unless it was sent.
 * Without a prototype, V8 would make each record a hash table. With this one, responses with the same headers share a
 * hidden class, and all checks are a quarter faster.
 */
const emptyPrototype: object = Object.freeze(Object.create(null))

export const noHeaders: Readonly<Record<string, string>> = Object.freeze(Object.create(emptyPrototype))

/**
 * The headers of a response as stored in an observation: names in lower case in order of arrival, repeated headers
 * joined, values trimmed and long ones cut. `raw` alternates names and values as received.
 */
export function headerRecord(raw: readonly (Buffer | string)[]): Readonly<Record<string, string>> {
  const record: Record<string, string> = Object.create(emptyPrototype)
  let count = 0
  for (let index = 1; index < raw.length; index += 2) {
    const rawName = raw[index - 1] ?? ''
    const rawValue = raw[index] ?? ''
    const slot = typeof rawName === 'string' ? null : slotOf(rawName)
    const name = slot === null ? String(rawName).toLowerCase() : slot.name
    const value = slot === null || typeof rawValue === 'string' ? textOf(rawValue) : valueIn(slot, rawValue)
    const earlier = record[name]
    if (earlier === undefined && count++ === maxHeaders) break
    const text = earlier === undefined ? value : `${earlier}, ${value}`
    record[name] = text.length > maxValueLength ? cut(text) : text
  }
  return record
}

/** `eyJ` is `{"` in base64. */
const cut = (text: string): string => text.slice(0, text.startsWith('eyJ') ? maxEncodedLength : maxValueLength)

/** Whether some of the `raw` headers are not in their record. */
export const areCut = (record: Readonly<Record<string, string>>, raw: readonly unknown[]): boolean =>
  raw.length > 2 * maxHeaders && Object.keys(record).length === maxHeaders

const textOf = (raw: Buffer | string): string => trim(typeof raw === 'string' ? raw : raw.toString('latin1'))

const SPACE = 0x20

/** Spaces and tabs around a value are not part of it (RFC 9110, section 5.5). Few values have any. */
function trim(value: string): string {
  const isBare = value.charCodeAt(0) > SPACE && value.charCodeAt(value.length - 1) > SPACE
  return isBare ? value : value.replace(/^[ \t]+|[ \t]+$/g, '')
}

/** A power of two, and far more than the number of names that a target sends. */
const cacheSlots = 256
/** Longer names are not cached. */
const maxCachedLength = 64

/** A header name, and the latest value that came with it. */
type Slot = { readonly bytes: Uint8Array; readonly name: string; valueBytes: Uint8Array; value: string }

/** The latest name at each place. */
const cache: (Slot | undefined)[] = Array(cacheSlots).fill(undefined)

/**
 * The slot of a header name. A target sends the same few names all the time, and half of their values. Comparing bytes
 * is several times cheaper than making a string of them.
 */
function slotOf(bytes: Uint8Array): Slot {
  const { length } = bytes
  const place = ((bytes[0] ?? 0) * 7 + (bytes[length - 1] ?? 0) * 31 + (bytes[length >> 1] ?? 0) + length) % cacheSlots
  const cached = cache[place]
  if (cached !== undefined && hasSameBytes(cached.bytes, bytes)) return cached
  const name = Buffer.from(bytes).toString('latin1').toLowerCase()
  const slot: Slot = { bytes: Uint8Array.from(bytes), name, valueBytes: noBytes, value: '' }
  if (length <= maxCachedLength) cache[place] = slot
  return slot
}

const noBytes = new Uint8Array(0)

/** The value as a text. */
function valueIn(slot: Slot, bytes: Buffer): string {
  if (hasSameBytes(slot.valueBytes, bytes)) return slot.value
  const value = textOf(bytes)
  if (bytes.length > maxCachedLength) return value
  slot.valueBytes = bytes
  slot.value = value
  return value
}

function hasSameBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false
  return true
}
