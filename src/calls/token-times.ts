import type { StreamRecord } from '../observation/observation.ts'

export type TokenTimes = {
  /** A chunk came that holds a token. */
  readonly stamp: (atMs: number, isContent: boolean) => void
  readonly times: () => Pick<StreamRecord, 'firstTokenMs' | 'firstContentMs' | 'lastTokenMs' | 'tokenChunks' | 'gapsMs'>
}

const mostGaps = 2_000

/** When the tokens of a stream came. */
export function createTokenTimes(): TokenTimes {
  let firstTokenMs: number | null = null
  let firstContentMs: number | null = null
  let lastTokenMs: number | null = null
  let tokenChunks = 0
  const gapsMs: number[] = []
  return {
    stamp: (atMs, isContent) => {
      tokenChunks++
      firstTokenMs ??= atMs
      if (isContent) firstContentMs ??= atMs
      if (lastTokenMs !== null && gapsMs.length < mostGaps) gapsMs.push(atMs - lastTokenMs)
      lastTokenMs = atMs
    },
    times: () => ({ firstTokenMs, firstContentMs, lastTokenMs, tokenChunks, gapsMs }),
  }
}
