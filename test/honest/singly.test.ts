import { describe, expect, test } from 'vitest'
import { objections } from './judged.ts'
import { describeChanges, plain, singleChanges, type Variant } from './service/variant.ts'

/**
 * Each reading of the document that is not the plain one, four unrelated ones at a time: a run takes seconds. The
 * readings of one option are neighbors, so a stride separates them.
 */
const stride = Math.ceil(singleChanges.length / 4)
const groups: readonly Partial<Variant>[] = Array.from({ length: stride }, (_, first) =>
  Object.assign({}, ...singleChanges.filter((_change, index) => index % stride === first)),
)

test('the readings are at least forty, and none is left out', () => {
  const grouped = groups.flatMap(group => Object.entries(group).map(([name, value]) => `${name}=${value}`))
  expect(singleChanges.length).toBeGreaterThanOrEqual(40)
  expect(grouped.toSorted()).toEqual(singleChanges.map(describeChanges).toSorted())
})

describe('no reading of the document is accused', () => {
  test.each([{}, ...groups].map(changes => [describeChanges(changes), changes] as const))('%s', async (_, changes) => {
    // Without a price list, the public base credits hold.
    const profile = changes.baseCredits === 'own' ? 'prices' : 'none'
    expect(await objections({ changes, scenario: 'test/honest/everyday.yaml', profile })).toEqual([])
  })

  test.each(['plain', 'own prices'])('%s, with the price list as a profile', async name => {
    const changes: Partial<Variant> = name === 'plain' ? plain : { prices: 'second', baseCredits: 'own' }
    expect(await objections({ changes, scenario: 'test/honest/everyday.yaml', profile: 'prices' })).toEqual([])
  })
})
