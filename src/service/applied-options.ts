import type { ChatOption, Contract } from '../contract/contract.ts'
import { isObject } from '../lib/json.ts'
import { pico } from '../lib/money.ts'

/** Every service-specific option with its value, sent or by default. One without a default is there only if it was sent. */
export type AppliedOptions = Readonly<Record<string, unknown>>

export type OptionPair = readonly [name: string, value: unknown]

export type OptionDecisions = {
  readonly takesOption: (name: string, value: unknown) => boolean
  /** What is read of the options behind the model's name, in their order. */
  readonly suffixOptions: (pairs: readonly OptionPair[]) => readonly OptionPair[]
  /** What the answer repeats of the options. */
  readonly echo: (echo: Readonly<Record<string, unknown>>, applied: AppliedOptions) => unknown
  /** Whether a model that thinks in tags does so. */
  readonly thinksInTags: (applied: AppliedOptions) => boolean
  readonly stripsThinking: (applied: AppliedOptions) => boolean
  /** How a source is cited in the text; null: not at all. */
  readonly citation: (position: number, sources: number, applied: AppliedOptions) => string | null
  /** How many pages are scraped, of so many that a message names. */
  readonly scrapedPages: (named: number) => number
  /** What a request costs whose tokens cost so much, and for which so often something was looked up. */
  readonly withLookups: (tokensPico: bigint, lookups: number) => bigint
  /** The tool whose call holds the search results; null: there is no such call. */
  readonly documentsTool: (applied: AppliedOptions) => string | null
}

export type Refused = { readonly issues: readonly OptionIssue[] }
export type OptionIssue = { readonly code: string; readonly path: readonly string[]; readonly message: string }

/** Options as documented. */
export function honestOptions(contract: Contract): OptionDecisions {
  const known = knownOptions(contract)
  const { scrapedPages, documentsTool, usdPerLookup, citationForm, firstSource } = contract.chat.search
  const lookupPico = pico(usdPerLookup ?? '0')
  return {
    takesOption: (name, value) => fits(known[name], value),
    suffixOptions: pairs => pairs,
    echo: echo => echo,
    stripsThinking: ({ strip_thinking_response: strip, disable_thinking: disable }) =>
      strip === true || disable === true,
    thinksInTags: ({ disable_thinking: disable }) => disable !== true,
    citation: (position, _, { enable_web_citations: cites }) =>
      cites === true ? citationForm.replace('{source}', String(firstSource + position)) : null,
    scrapedPages: named => Math.min(named, scrapedPages),
    withLookups: (tokensPico, lookups) => tokensPico + BigInt(lookups) * lookupPico,
    documentsTool: ({ return_search_results_as_documents: asDocuments }) =>
      asDocuments === true ? documentsTool : null,
  }
}

const knownOptions = ({ chat }: Contract): Readonly<Record<string, ChatOption>> => ({
  ...chat.options,
  [chat.systemPromptOption]: { values: 'boolean', default: true, conditional: false },
})

function fits(option: ChatOption | undefined, value: unknown): boolean {
  if (option === undefined) return true
  const { values } = option
  return typeof values === 'string' ? typeof value === values : values.some(each => each === value)
}

/**
 * Reads the options in the body, and those behind the model's name (`option=value&option=value`), over which the former
 * win. Unknown ones are dropped.
 */
export function optionsReader(
  contract: Contract,
  decide: OptionDecisions,
): (inBody: unknown, suffix: string) => AppliedOptions | Refused {
  const { parametersField } = contract.chat
  const known = knownOptions(contract)
  const defaults = Object.fromEntries(
    Object.entries(known).flatMap(([name, option]) => (option.default === null ? [] : [[name, option.default]])),
  )
  const issue = (path: readonly string[], message: string): OptionIssue => ({ code: 'invalid_value', path, message })

  return (inBody, suffix) => {
    if (inBody !== undefined && !isObject(inBody)) return { issues: [issue([parametersField], 'not an object')] }
    const behind = suffix === '' ? [] : decide.suffixOptions(suffix.split('&').map(pairOf))
    const sent = [...behind, ...Object.entries(inBody ?? {})].filter(([name]) => Object.hasOwn(known, name))
    const wrong = sent.filter(([name, value]) => !decide.takesOption(name, value))
    if (wrong.length > 0) return { issues: wrong.map(([name]) => issue([parametersField, name], 'not a value of it')) }
    return sent.length === 0 ? defaults : { ...defaults, ...Object.fromEntries(sent) }
  }
}

export const isRefused = (read: AppliedOptions | Refused): read is Refused => Array.isArray(read.issues)

function pairOf(text: string): OptionPair {
  const equals = text.indexOf('=')
  const name = equals < 0 ? text : text.slice(0, equals)
  const value = equals < 0 ? '' : text.slice(equals + 1)
  return [name, value === 'true' ? true : value === 'false' ? false : value]
}
