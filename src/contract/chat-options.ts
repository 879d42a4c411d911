/** What a chat request asks beyond a prompt and a bound. Plain JSON. */
export type ChatOptions = {
  /** Further members of the request's body, over those that it would have. */
  readonly body: Readonly<Record<string, unknown>>
  /** Members of the service-specific options, over those that are always sent. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** What stands behind the model's name, such as `enable_web_search=auto`; null: nothing. */
  readonly suffix: string | null
  /** The value of Accept-Encoding; null: none is sent. */
  readonly encoding: string | null
  /** Whether every prompt of the call is the same, so that a cache can hold it. */
  readonly samePrompt: boolean
}

/** How many choices are generated, each of them as long as the bound allows. */
export function choicesOf(options: ChatOptions | null): number {
  const asked = options?.body.n
  return typeof asked === 'number' && Number.isInteger(asked) && asked > 1 ? asked : 1
}

/** A member of a request that no service knows. */
export const unknownMember = 'no_such_member'
