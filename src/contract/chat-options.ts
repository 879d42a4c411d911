import { z } from 'zod'
import type { DeepReadonly } from '../lib/json.ts'
import { members } from '../lib/schemas.ts'
import type { ChatOption, Contract } from './contract.ts'

/** The options of a chat request beyond its prompt and its token limit. Plain JSON. */
export const chatOptionsSchema = z.object({
  /** Additional fields of the request body. They override the default fields. */
  body: members,
  /** Service-specific options. They override the options that are always sent. */
  parameters: members,
  /** The suffix of the model's name, such as `enable_web_search=auto`; null for none. */
  suffix: z.string().nullable(),
  /** The value of Accept-Encoding; null if it is not sent. */
  encoding: z.string().nullable(),
  /** Whether every prompt of the call is the same, so that the target can cache it. */
  samePrompt: z.boolean(),
})
export type ChatOptions = DeepReadonly<z.output<typeof chatOptionsSchema>>

/** How fast a client reads a stream. */
export const readRateSchema = z.object({ unit: z.enum(['tokens', 'bytes']), perSecond: z.number().positive() })
export type ReadRate = DeepReadonly<z.output<typeof readRateSchema>>

/** The options of a request that has none. */
export const noChatOptions: ChatOptions = {
  body: {},
  parameters: {},
  suffix: null,
  encoding: null,
  samePrompt: false,
}

/** The number of choices that the target generates. The token limit applies to each. */
export function choicesOf(options: ChatOptions | null): number {
  const request = options?.body.n
  return typeof request === 'number' && Number.isInteger(request) && request > 1 ? request : 1
}

/** Whether a request asks for the same completion each time. Whether it gets that is a promise of the target. */
export const isDeterministic = (options: Pick<ChatOptions, 'body'> | null): boolean =>
  options?.body.temperature === 0 && Number.isInteger(options.body.seed)

/** A field that no service documents. */
export const unknownMember = 'no_such_member'

type Options = Readonly<Record<string, unknown>>

/** All service-specific options by name. */
export const documentedOptions = ({ chat }: Contract): Readonly<Record<string, ChatOption>> => ({
  ...chat.options,
  ...(chat.systemPromptOption !== null && {
    [chat.systemPromptOption]: { values: 'boolean', default: true, conditional: false } as const,
  }),
})

export function allowsValue({ values }: ChatOption, value: unknown): boolean {
  if (values === 'boolean' || values === 'string') return typeof value === values
  return typeof value === 'string' && values.includes(value)
}

/** The service-specific options in a request body. A null value removes an option that is sent by default. */
export function bodyOptions(options: ChatOptions | null, { chat }: Contract): Options {
  const always = chat.systemPromptOption === null ? {} : { [chat.systemPromptOption]: false }
  if (options === null) return always
  const all = { ...always, ...options.parameters }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null))
}

/** The options in the suffix of the model's name. */
export function suffixOptions({ suffix }: ChatOptions, contract: Contract): Options {
  if (suffix === null) return {}
  const known = documentedOptions(contract)
  const pairs = suffix.split('&').map(pair => {
    const [name = '', ...value] = pair.split('=')
    const text = value.join('=')
    const isFlag = Object.hasOwn(known, name) && known[name]?.values === 'boolean'
    return [name, isFlag && (text === 'true' || text === 'false') ? text === 'true' : text] as const
  })
  return Object.fromEntries(pairs)
}

/** All options of a request, from its body and from the suffix of its model. */
export const requestedOptions = (options: ChatOptions, contract: Contract): Options => ({
  ...suffixOptions(options, contract),
  ...bodyOptions(options, contract),
})

export const isSearching = (options: Options): boolean =>
  options.enable_web_search === 'on' || options.enable_web_search === 'auto' || options.enable_x_search === true

/** The document does not state how many results a third-party search returns. A page has at most this many. */
const maxResults = 20

/** The maximum number of billable searches, scraped pages and results of a request. */
export function maxLookups(options: ChatOptions | null, contract: Contract): number {
  if (options === null) return 0
  const {
    enable_web_search: search,
    enable_x_search: third,
    enable_web_scraping: scrapes,
  } = requestedOptions(options, contract)
  const searches = search === 'on' || search === 'auto' ? 1 : 0
  return searches + (scrapes === true ? contract.chat.search.scrapedPages : 0) + (third === true ? maxResults : 0)
}
