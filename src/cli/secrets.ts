import { createSecrets, type Secrets } from '../library/secrets.ts'

export { environmentSecrets } from '../library/secrets.ts'

/** The secrets of this process, which are hidden in all of its output. */
export const ownSecrets: Secrets = createSecrets()

export const hideSecrets = ownSecrets.hide
/** A text without the secrets of this process. */
export const hidden = ownSecrets.text
/** Plain data without the secrets of this process; the same value if it contains none. */
export const hiddenIn = ownSecrets.json

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
  return ownSecrets.areIn(text) ? hidden(text) : bytes
}
