import { documentedOptions } from '../../contract/chat-options.ts'
import type { ChatOption, Contract } from '../../contract/contract.ts'
import { isObject } from '../../lib/json.ts'
import { pico } from '../../lib/money.ts'

/** Every service-specific option with its value, sent or default. One without a default is present only if sent. */
export type AppliedOptions = Readonly<Record<string, unknown>>

type OptionPair = readonly [name: string, value: unknown]

export type OptionRules = {
  readonly takesOption: (name: string, value: unknown) => boolean
  /** Which options after the name of the model are read, and in which order. */
  readonly suffixOptions: (pairs: readonly OptionPair[], stream: boolean) => readonly OptionPair[]
  /** The echo of the options in the response. */
  readonly echo: (echo: Readonly<Record<string, unknown>>, applied: AppliedOptions) => unknown
  /** Whether a model that supports think tags uses them. */
  readonly thinksInTags: (applied: AppliedOptions) => boolean
  readonly stripsThinking: (applied: AppliedOptions) => boolean
  /** The citation of a source in the text; null for none. */
  readonly citation: (position: number, sources: number, applied: AppliedOptions) => string | null
  /** The number of pages to scrape if a message names `named` pages. */
  readonly scrapedPages: (named: number) => number
  /** The price of a request, from the price of its tokens and its number of lookups. */
  readonly withLookups: (tokensPico: bigint, lookups: number) => bigint
  /** The tool whose call carries the search results; null for no such call. */
  readonly documentsTool: (applied: AppliedOptions) => string | null
}

type InvalidOptions = { readonly issues: readonly OptionIssue[] }
type OptionIssue = { readonly code: string; readonly path: readonly string[]; readonly message: string }

/** The rules for options as documented. */
export function defaultOptionRules(contract: Contract): OptionRules {
  const known = documentedOptions(contract)
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

function fits(option: ChatOption | undefined, value: unknown): boolean {
  if (option === undefined) return true
  const { values } = option
  return typeof values === 'string' ? typeof value === values : values.some(each => each === value)
}

/** The document's second name of the option for the default system prompts. */
const otherPromptOption = 'include_service_system_prompt'

/**
 * Reads the options after the name of the model (`option=value&option=value`) and those in the body, which take
 * precedence. Drops unknown ones.
 */
export function optionsReader(
  contract: Contract,
  rules: OptionRules,
): (inBody: unknown, suffix: string, stream: boolean) => AppliedOptions | InvalidOptions {
  const { parametersField, systemPromptOption } = contract.chat
  const known = documentedOptions(contract)
  /** With both names of one option, the first name has precedence. */
  const named = (pairs: readonly OptionPair[]): readonly OptionPair[] => {
    const isOther = ([name]: OptionPair): boolean => systemPromptOption !== null && name === otherPromptOption
    const others = pairs.filter(isOther).map(([, value]): OptionPair => [systemPromptOption ?? '', value])
    return [...others, ...pairs.filter(pair => !isOther(pair))]
  }
  const defaults = Object.fromEntries(
    Object.entries(known).flatMap(([name, option]) => (option.default === null ? [] : [[name, option.default]])),
  )
  const issue = (path: readonly string[], message: string): OptionIssue => ({ code: 'invalid_value', path, message })

  return (inBody, suffix, stream) => {
    if (inBody !== undefined && !isObject(inBody)) return { issues: [issue([parametersField], 'not an object')] }
    const inSuffix = suffix === '' ? [] : rules.suffixOptions(suffix.split('&').map(pairOf), stream)
    const sent = [...named(inSuffix), ...named(Object.entries(inBody ?? {}))].filter(([name]) =>
      Object.hasOwn(known, name),
    )
    const wrong = sent.filter(([name, value]) => !rules.takesOption(name, value))
    if (wrong.length > 0) return { issues: wrong.map(([name]) => issue([parametersField, name], 'not a value of it')) }
    return sent.length === 0 ? defaults : { ...defaults, ...Object.fromEntries(sent) }
  }
}

export const areInvalid = (read: AppliedOptions | InvalidOptions): read is InvalidOptions => Array.isArray(read.issues)

function pairOf(text: string): OptionPair {
  const equals = text.indexOf('=')
  const name = equals < 0 ? text : text.slice(0, equals)
  const value = equals < 0 ? '' : text.slice(equals + 1)
  return [name, value === 'true' ? true : value === 'false' ? false : value]
}

/** The echo of the options in a response. The documented one leaves out the third-party search. */
export const echoOf = (
  { enable_x_search: _, ...options }: AppliedOptions,
  sources: readonly unknown[],
  rules: OptionRules,
): unknown => rules.echo({ ...options, web_search_citations: sources }, options)
