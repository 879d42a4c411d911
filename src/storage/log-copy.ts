import { open, rm } from 'node:fs/promises'

/** A log that is read in parts. */
export type LogSource = {
  readonly size: number
  readonly read: (offset: number, length: number) => Promise<Buffer>
  readonly close: () => Promise<void>
}

/** A log that is written in parts: in the end it is whole, or it does not exist. */
export type LogTarget = {
  readonly append: (bytes: Buffer) => Promise<void>
  readonly keep: () => Promise<void>
  readonly discard: () => Promise<void>
}

export async function openLogSource(file: string): Promise<LogSource> {
  const handle = await open(file)
  return {
    size: (await handle.stat()).size,
    read: async (offset, length) => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset)
      if (bytesRead < length) throw new Error('the log became shorter')
      return buffer
    },
    close: () => handle.close(),
  }
}

/** Creates the file for this user only. Fails if it exists. */
export async function createLogTarget(file: string): Promise<LogTarget> {
  const handle = await open(file, 'wx', 0o600)
  return {
    append: bytes => handle.appendFile(bytes),
    keep: () => handle.close(),
    discard: async () => {
      await handle.close()
      await rm(file, { force: true })
    },
  }
}
