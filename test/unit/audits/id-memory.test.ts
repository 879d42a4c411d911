import { describe, expect, test } from 'vitest'
import { createIdMemory } from '../../../src/audits/id-memory.ts'
import { randomStream, textHash } from '../../../src/lib/random.ts'

describe('a memory of ids', () => {
  test('knows who had an id first, and in which group', () => {
    const memory = createIdMemory(10)
    expect([memory.put('a', 3, null), memory.put('b', 4, 2)]).toEqual([null, null])
    expect([memory.put('a', 5, 1), memory.put('b', 6, null)]).toEqual([
      { seq: 3, group: null },
      { seq: 4, group: 2 },
    ])
    expect(memory.all()).toEqual([
      ['a', 3],
      ['b', 4],
    ])
  })

  test('knows the last ones for sure, and none that came twice as many ago', () => {
    const most = 3_000
    const memory = createIdMemory(most)
    for (let seq = 0; seq < 10_000; seq++) {
      expect(memory.put(`id-${seq}`, seq, null)).toBeNull()
      const early = seq - most + 1
      if (early >= 0) expect(memory.put(`id-${early}`, -1, null)).toEqual({ seq: early, group: null })
    }
    expect(memory.put('id-0', 10_000, null)).toBeNull()
    expect(memory.all().length).toBeLessThanOrEqual(2 * most)
  })

  test('tells ids of one hash apart', () => {
    const [one, other] = twins()
    expect(textHash(one)).toBe(textHash(other))
    const memory = createIdMemory(10)
    expect([memory.put(one, 1, null), memory.put(other, 2, null)]).toEqual([null, null])
    expect([memory.put(other, 3, null)?.seq, memory.put(one, 4, null)?.seq]).toEqual([2, 1])
  })

  test('does what a Map would', () => {
    const random = randomStream(1, 'ids')
    const [memory, map] = [createIdMemory(1_000_000), new Map<string, number>()]
    for (let seq = 0; seq < 20_000; seq++) {
      const id = random.int(8_000).toString(36)
      expect(memory.put(id, seq, null)?.seq).toBe(map.get(id))
      if (!map.has(id)) map.set(id, seq)
    }
    expect(memory.all()).toEqual([...map])
  })
})

/** Two texts of one hash: among 200,000 there are some. */
function twins(): readonly [string, string] {
  const byHash = new Map<number, string>()
  for (let n = 0; ; n++) {
    const text = `r${n.toString(36)}${(n * 7919).toString(36)}`
    const known = byHash.get(textHash(text))
    if (known !== undefined) return [known, text]
    byHash.set(textHash(text), text)
  }
}
