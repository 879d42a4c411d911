import { countTokens, tokensPerAttachment, tokensPerMessage } from './tokens.ts'

/** The beginning of a prompt, as a cache may store it. */
export type Prefix = {
  readonly text: string
  readonly tokens: number
  /** Whether the request marks it for caching. Otherwise it is cached because of its length. */
  readonly isMarked: boolean
}

/** How many tokens of a prompt came from the cache, and how many the request added to it. */
export type CacheUse = { readonly read: number; readonly written: number }

type Part = { readonly type: string; readonly text?: unknown; readonly cache_control?: unknown }
type Message = {
  readonly role: string
  readonly content?: string | readonly Part[] | null | undefined
  readonly tool_calls?: readonly unknown[] | null | undefined
}

/** Shorter prompts are cached only where they are marked. */
export const minCachedTokens = 1_024
const lifetimeMs = 300_000
const maxPrefixes = 64

/** The prefixes of a prompt to be cached: those that are marked, and every whole message from `minCachedTokens` on. */
export function prefixesOf(messages: readonly Message[]): readonly Prefix[] {
  if (isShort(messages)) return []
  const prefixes: Prefix[] = []
  let text = ''
  let tokens = 0
  for (const { role, content, tool_calls: calls } of messages) {
    text += `\n${role}:`
    tokens += tokensPerMessage
    const called = calls ? JSON.stringify(calls) : ''
    text += called
    tokens += countTokens(called)
    const parts: readonly Part[] = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
    for (const part of parts) {
      text += JSON.stringify(part.text ?? part)
      tokens += typeof part.text === 'string' ? countTokens(part.text) : tokensPerAttachment
      if (part.cache_control !== undefined) prefixes.push({ text, tokens, isMarked: true })
    }
    if (tokens >= minCachedTokens) prefixes.push({ text, tokens, isMarked: false })
  }
  return prefixes
}

/** A cheap test that there is nothing to cache: no part can be marked, and the text is too short. */
function isShort(messages: readonly Message[]): boolean {
  let characters = 0
  for (const { content } of messages) {
    if (typeof content !== 'string') return false
    characters += content.length
  }
  return characters + messages.length * tokensPerMessage < minCachedTokens
}

/** Remembers the prefixes of each owner until they expire. */
export function promptCache(): (owner: string, prefixes: readonly Prefix[], nowMs: number) => CacheUse {
  const owners = new Map<string, Map<string, number>>()
  return (owner, prefixes, nowMs) => {
    if (prefixes.length === 0) return { read: 0, written: 0 }
    const held = owners.get(owner) ?? new Map<string, number>()
    owners.set(owner, held)
    const found = prefixes.filter(({ text }) => (held.get(text) ?? 0) > nowMs)
    const read = Math.max(0, ...found.map(({ tokens }) => tokens))
    const marked = Math.max(0, ...prefixes.filter(({ isMarked }) => isMarked).map(({ tokens }) => tokens))
    for (const { text } of prefixes) {
      // Moves it to the end of the map, as the most recently used.
      held.delete(text)
      held.set(text, nowMs + lifetimeMs)
    }
    for (const text of held.keys()) {
      if (held.size <= maxPrefixes) break
      held.delete(text)
    }
    return { read, written: Math.max(0, marked - read) }
  }
}
