import { describe, expect, test } from 'vitest'
import { prefixesOf, promptCache } from '../../../../src/service/chat/prompt-cache.ts'

const part = (text: string, marked = false) => ({
  type: 'text',
  text,
  ...(marked ? { cache_control: { type: 'ephemeral' } } : {}),
})
const userMessage = (...parts: readonly object[]) => [{ role: 'user', content: parts as ReturnType<typeof part>[] }]
const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ')
const marked = prefixesOf(userMessage(part('one two', true), part('three')))

describe('the prefixes of a prompt', () => {
  test('are none for a short unmarked prompt', () => {
    expect(prefixesOf([{ role: 'user', content: 'hello' }])).toEqual([])
    expect(prefixesOf(userMessage(part('hello')))).toEqual([])
  })

  test('include a marked part with everything before it', () => {
    expect(marked.map(({ tokens, isMarked }) => [tokens, isMarked])).toEqual([[6, true]])
  })

  test('include every message from the minimum length on', () => {
    const messages = [100, 920, 1].map(count => ({ role: 'user', content: words(count) }))
    expect(prefixesOf(messages).map(({ tokens }) => tokens)).toEqual([1028, 1033])
  })
})

describe('the prompt cache', () => {
  test('returns stored prefixes to the same owner only', () => {
    const cache = promptCache()
    expect(cache('ada', marked, 0)).toEqual({ read: 0, written: 6 })
    expect(cache('bob', marked, 0)).toEqual({ read: 0, written: 6 })
    expect(cache('ada', marked, 1)).toEqual({ read: 6, written: 0 })
  })

  test('writes only the part that a longer prompt adds', () => {
    const cache = promptCache()
    cache('ada', marked, 0)
    const longer = prefixesOf(userMessage(part('one two', true), part('three four five', true)))
    expect(cache('ada', longer, 1)).toEqual({ read: 6, written: 3 })
  })

  test('stores a long unmarked prompt without reporting written tokens', () => {
    const cache = promptCache()
    const long = prefixesOf([{ role: 'user', content: words(1_100) }])
    expect(cache('ada', long, 0)).toEqual({ read: 0, written: 0 })
    expect(cache('ada', long, 1)).toEqual({ read: 1_104, written: 0 })
  })

  test('expires prefixes after five minutes without use', () => {
    const cache = promptCache()
    cache('ada', marked, 0)
    expect(cache('ada', marked, 299_999).read).toBe(6)
    expect(cache('ada', marked, 599_998).read).toBe(6)
    expect(cache('ada', marked, 899_998).read).toBe(0)
  })

  test('evicts the least recently used prefix', () => {
    const cache = promptCache()
    const each = (n: number) => prefixesOf(userMessage(part(`text ${n}`, true)))
    for (let n = 0; n < 65; n++) cache('ada', each(n), 0)
    expect(cache('ada', each(64), 1).read).toBe(6)
    expect(cache('ada', each(0), 1).read).toBe(0)
  })
})
