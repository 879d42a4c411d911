/** The load of a calibration. */
export type StreamLoad = {
  /** Concurrent streams. */
  readonly streams: number
  /** Tokens per second of each stream. */
  readonly perSecond: number
  /** Tokens of a stream. With `perSecond`, they give its duration. */
  readonly tokens: number
  /** Tokens per write, each a separate chunk. */
  readonly tokensPerWrite: number
  /** How long to measure once all streams are open. */
  readonly seconds: number
}

/** An observation keeps no more gaps of a stream. */
export const maxStreamTokens = 2_000

export const streamMs = ({ tokens, perSecond }: StreamLoad): number => (1000 * tokens) / perSecond

/** Streams to start per second, so that `streams` are open once the first one ends. */
export const streamStartsPerSecond = (load: StreamLoad): number => (1000 * load.streams) / streamMs(load)

/** Instants on the monotonic clock of the machine. */
export type MeasuredWindow = { readonly fromMs: number; readonly toMs: number }

/** The measured part of a load from `startMs` on: while all streams are open and new ones start. */
export const measuredWindow = (load: StreamLoad, startMs: number): MeasuredWindow => ({
  fromMs: startMs + streamMs(load),
  toMs: startMs + streamMs(load) + load.seconds * 1000,
})
