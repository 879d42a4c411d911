import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { UsageError } from '../../../src/lib/usage-error.ts'
import { defineScenario } from '../../../src/library/draft.ts'
import type { ScenarioInput } from '../../../src/scenario/schema.ts'

const first: ScenarioInput = {
  name: 'first',
  callers: { count: 2 },
  calls: { chat: { kind: 'chat', 'model-tier': 'XS', 'prompt-tokens': 20 } },
  stages: [{ name: 'steady', duration: '2s', shape: 'constant', rate: '2/s', mix: { chat: 1 } }],
  thresholds: [{ expect: 'violations == 0', why: 'The service documents each rule.' }],
}

const mistakesOf = (scenario: unknown): readonly string[] => {
  try {
    defineScenario(scenario as ScenarioInput)
    return []
  } catch (cause) {
    expect(cause).toBeInstanceOf(UsageError)
    return (cause as UsageError).message.split('\n')
  }
}

describe('defineScenario', () => {
  test('returns a scenario without mistakes as it is', () => {
    expect(defineScenario(first)).toBe(first)
  })

  test.each(readdirSync('scenarios').filter(file => file.endsWith('.yaml')))('accepts the data of %s', file => {
    const scenario = parse(readFileSync(`scenarios/${file}`, 'utf8'), { merge: true })
    expect(mistakesOf(scenario)).toEqual([])
  })

  test('names every mistake and its place', () => {
    const [stage] = first.stages
    const mistakes = mistakesOf({
      ...first,
      calls: { chat: { kind: 'chatt', 'prompt-tokens': 20 } },
      stages: [{ ...stage, duration: '2 seconds' }],
      thresholds: [{ expect: 'violatons == 0', why: 'x' }],
    })
    expect(mistakes).toEqual([
      expect.stringMatching(/^scenario first: calls\.chat\.kind: got "chatt", .*did you mean "chat"\?$/),
      expect.stringMatching(/^scenario first: stages\[0\]\.duration: got "2 seconds", expected a duration/),
      expect.stringMatching(/^scenario first: thresholds\[0\]\.expect: .*did you mean "violations"\?$/),
    ])
  })

  test('names a mistake between the parts, as the loader of files does', () => {
    const [stage] = first.stages
    expect(mistakesOf({ ...first, stages: [{ ...stage, mix: { cat: 1 } }] })).toEqual([
      expect.stringMatching(/^scenario first: stages\[0\]\.mix\.cat: got "cat", .*did you mean "chat"\?$/),
    ])
  })

  test('leaves the names of models and networks to the target', () => {
    const chat = { kind: 'chat', model: 'a-model-of-tomorrow', 'prompt-tokens': 20 } as const
    expect(mistakesOf({ ...first, calls: { chat } })).toEqual([])
  })

  test.each([[null], ['a text'], [[]], [undefined]])('refuses %j', value => {
    expect(mistakesOf(value)).toEqual([expect.stringMatching(/^scenario: got .*, expected a scenario/)])
  })

  test('does not show a secret', () => {
    const mistakes = mistakesOf({ ...first, callers: { count: 1, key: 'hush-hush' } })
    expect(mistakes).toEqual([expect.stringContaining('scenario first: callers.key: got the key "key"')])
  })
})
