/** The load that a certificate is about. */
export type StreamLoad = {
  /** Streams that are open at the same time. */
  readonly streams: number
  /** Tokens of each stream in a second. */
  readonly perSecond: number
  /** Tokens of a stream; with the pace, how long it lasts. */
  readonly tokens: number
  /** Tokens that are written at once, each a chunk of its own. */
  readonly tokensPerWrite: number
  /** How long it is watched, once that many streams are open. */
  readonly seconds: number
}

/** More gaps of a stream are not kept. */
export const maxStreamTokens = 2_000

export const streamMs = ({ tokens, perSecond }: StreamLoad): number => (1000 * tokens) / perSecond

/** Streams that begin in a second, so that `streams` are open once the first of them end. */
export const streamStartsPerSecond = (load: StreamLoad): number => (1000 * load.streams) / streamMs(load)

/** Instants on the clock of the machine. */
export type MeasuredWindow = { readonly fromMs: number; readonly toMs: number }

/** What counts of a load that began at `startMs`: from when all streams are open until no more begin. */
export const measuredWindow = (load: StreamLoad, startMs: number): MeasuredWindow => ({
  fromMs: startMs + streamMs(load),
  toMs: startMs + streamMs(load) + load.seconds * 1000,
})
