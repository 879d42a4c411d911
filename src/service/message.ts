/** What the service is asked. Header names are in lower case. */
export type ServiceRequest = {
  readonly method: string
  /** Relative to the base address; it may carry a query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | string
}

/** What the service answers, with the instants at which it does. */
export type Reply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** From the request's arrival until the head is sent. */
  readonly afterMs: number
  readonly body: ReplyBody
}

export type ReplyBody =
  | { readonly kind: 'whole'; readonly text: string }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'stream'; readonly chunks: readonly StreamChunk[] }

export type StreamChunk = {
  /** From the request's arrival; never falls along a stream. */
  readonly afterMs: number
  readonly text: string
}
