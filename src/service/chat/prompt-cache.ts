import { countTokens, tokensPerAttachment, tokensPerMessage } from './tokens.ts'

/** The beginning of a prompt, which a cache may hold. */
export type Prefix = {
  readonly text: string
  readonly tokens: number
  /** Whether the request asks that it be cached; else it is because it is long. */
  readonly isMarked: boolean
}
/** Of the tokens of a prompt, how many were in the cache, and how many are because it was asked for. */
export type CacheUse = { readonly read: number; readonly written: number }
type Part = { readonly type: string; readonly text?: unknown; readonly cache_control?: unknown }
type Message = { readonly role: string; readonly content?: string | readonly Part[] | null | undefined }
const leastTokens = 1_024
const lifetimeMs = 300_000
const mostPrefixes = 64
/** The prefixes of a prompt that are worth a place: those that are marked, and whole messages once they are many. */
export function prefixesOf(messages: readonly Message[]): readonly Prefix[] {
  if (isShort(messages)) return []
  const prefixes: Prefix[] = []
  let text = ''
  let tokens = 0
  for (const { role, content } of messages) {
    text += `\n${role}:`
    tokens += tokensPerMessage
    const parts: readonly Part[] = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
    for (const part of parts) {
      text += JSON.stringify(part.text ?? part)
      tokens += typeof part.text === 'string' ? countTokens(part.text) : tokensPerAttachment
      if (part.cache_control !== undefined) prefixes.push({ text, tokens, isMarked: true })
    }
    if (tokens >= leastTokens) prefixes.push({ text, tokens, isMarked: false })
  }
  return prefixes
}
/** Whether it shows at a glance that there is nothing to cache: no part is marked, and no text has so many tokens. */
function isShort(messages: readonly Message[]): boolean {
  let characters = 0
  for (const { content } of messages) {
    if (typeof content !== 'string') return false
    characters += content.length
  }
  return characters + messages.length * tokensPerMessage < leastTokens
}
/** Prompts as they were seen: by owner, the prefixes and when they are forgotten. */
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
      // Behind all others, as the last that was used.
      held.delete(text)
      held.set(text, nowMs + lifetimeMs)
    }
    for (const text of held.keys()) {
      if (held.size <= mostPrefixes) break
      held.delete(text)
    }
    return { read, written: Math.max(0, marked - read) }
  }
}
