import { describe, expect, test } from 'vitest'
import { believable } from '../../../src/compare/false-discoveries.ts'

const believed = (chances: readonly number[]) => believable(chances, chance => chance, 0.05)

describe('which of many tests may be believed', () => {
  test('one that would convince alone does not among twenty', () => {
    const others = Array.from({ length: 19 }, (_, index) => 0.1 + index / 25)
    expect(believed([0.04])).toEqual([0.04])
    expect(believed([0.04, ...others])).toEqual([])
    expect(believed([...others, 0.002])).toEqual([0.002])
  })

  test('many that agree support each other', () => {
    expect(believed([0.04, 0.03, 0.045, 0.02])).toEqual([0.02, 0.03, 0.04, 0.045])
  })

  test('is that of the published example', () => {
    // Benjamini and Hochberg 1995: of these fifteen, the first four.
    const chances = [
      0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1,
    ]
    expect(believed(chances)).toEqual(chances.slice(0, 4))
  })

  test('is nothing where there is nothing', () => expect(believed([])).toEqual([]))
})
