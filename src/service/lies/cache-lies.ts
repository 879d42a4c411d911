import type { Usage } from '../chat/completion.ts'
import { amended } from './amended.ts'
import { type Lie, type Lies, lie } from './lie.ts'

type Details = Usage['prompt_tokens_details']

/** A lie about the tokens of a prompt that were cached or written, told where there are any. */
const says = (name: string, does: string, change: (details: Details, prompt: number) => unknown): Lie =>
  lie(name, does, honest => ({
    usage: usage => {
      const { prompt_tokens: prompt, prompt_tokens_details: details } = usage
      const isCached = details.cached_tokens + details.cache_creation_input_tokens > 0
      const said = honest.usage(usage)
      return isCached ? amended(said, { prompt_tokens_details: change(details, prompt) }) : said
    },
  }))

/** A lie about what they cost. */
const bills = (name: string, does: string, change: (details: Details, prompt: number) => Partial<Usage>): Lie =>
  lie(name, does, honest => ({
    chatCostPico: (usage, price) =>
      honest.chatCostPico({ ...usage, ...change(usage.prompt_tokens_details, usage.prompt_tokens) }, price),
  }))

export const cacheLies = {
  'chat.usage.cached': [
    says('cached-as-text', 'Cached tokens are a string.', details => ({
      ...details,
      cached_tokens: String(details.cached_tokens),
    })),
    says('written-with-a-fraction', 'Written tokens are not whole.', details => ({
      ...details,
      cache_creation_input_tokens: details.cache_creation_input_tokens + 0.5,
    })),
    says('more-cached-than-sent', 'More tokens are cached than the prompt has.', (details, prompt) => ({
      ...details,
      cached_tokens: prompt + 1,
      cache_creation_input_tokens: 0,
    })),
    says('cached-and-written', 'Tokens that are cached are said to be written as well.', (_, prompt) => ({
      cached_tokens: prompt,
      cache_creation_input_tokens: 1,
    })),
    says('cache-details-as-list', 'The details of a prompt are a list.', details => Object.values(details)),
  ],
  'chat.cost.cached': [
    bills('cached-at-full-price', 'Cached tokens cost as much as others.', details => ({
      prompt_tokens_details: { ...details, cached_tokens: 0 },
    })),
    bills('cached-for-nothing', 'Cached tokens are not billed.', (details, prompt) => ({
      prompt_tokens: prompt - details.cached_tokens,
      prompt_tokens_details: { ...details, cached_tokens: 0 },
    })),
    bills('written-at-full-price', 'Written tokens cost as much as others.', details => ({
      prompt_tokens_details: { ...details, cache_creation_input_tokens: 0 },
    })),
    bills('written-on-top', 'Written tokens are billed on top of the prompt.', (details, prompt) => ({
      prompt_tokens: prompt + details.cache_creation_input_tokens,
    })),
  ],
} as const satisfies Lies
