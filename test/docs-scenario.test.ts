import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { parseProfile } from '../src/contract/profile.ts'
import { toObject } from '../src/lib/json.ts'
import { notDiscovered } from '../src/plan/limits.ts'
import { makePlan, planBounds } from '../src/plan/make-plan.ts'
import type { Plan } from '../src/plan/plan.ts'
import { parseReadRate } from '../src/scenario/calls/chat.ts'
import { pointOf } from '../src/scenario/calls/hang-up.ts'
import { durationRangeField, rangeField } from '../src/scenario/fields.ts'
import { parseScenario } from '../src/scenario/load-scenario.ts'
import { operators } from '../src/scenario/threshold.ts'
import {
  parseBytes,
  parseDuration,
  parsePercent,
  parseRate,
  parseShareOfTier,
  parseUsd,
} from '../src/scenario/units.ts'
import { lieByName } from '../src/service/lies/lies.ts'
import { blocksOf } from './support/markdown.ts'
import {
  calls,
  countDefinitions,
  exampleAt,
  fileExamples,
  fileKeys,
  isThreshold,
  type Key,
  keysIn,
  membersOf,
  stages,
  units,
} from './support/render-reference.ts'
import { callExamples, stageExamples, thresholdExample, wholeExample } from './support/scenario-examples.ts'
import { virtualRun } from './support/virtual-run.ts'

const page = readFileSync('docs/scenario-reference.md', 'utf8')
const guide = readFileSync('docs/scenarios.md', 'utf8')

describe('every key of the language', () => {
  type Part = readonly [name: string, keys: readonly Key[], examples: readonly unknown[]]
  const ofMostStages = membersOf(stageExamples.constant ?? '', 'stages', 'shape', 'constant')
  const ofCalls = calls().map(([name, schema]): Part => {
    return [name, keysIn(schema), membersOf(callExamples[name] ?? '', 'calls', 'kind', name)]
  })
  const ofStages = stages().map(([name, schema]): Part => {
    const own = membersOf(stageExamples[name] ?? '', 'stages', 'shape', name)
    return [name, keysIn(schema), [...own, ...ofMostStages]]
  })
  const all: readonly Part[] = [['the file', fileKeys(), fileExamples], ...ofCalls, ...ofStages]

  test.each(all)('of %s has a meaning, and a default unless it is required', (_, keys) => {
    expect(keys.filter(({ meaning }) => !/^[A-Z].*\.$/.test(meaning)).map(({ path }) => path.join('.'))).toEqual([])
    expect(keys.filter(({ byDefault }) => byDefault === '').map(({ path }) => path.join('.'))).toEqual([])
  })

  test.each(all)('of %s is in an example', (_, keys, examples) => {
    const missing = keys.filter(({ path }) => exampleAt(examples, path) === undefined)
    expect(missing.map(({ path }) => path.join('.'))).toEqual([])
  })

  test('that Turnpike gives a value has that value', () => {
    const none = { connectMs: null, headersMs: null, idleMs: null, totalMs: null }
    const timeouts = { chat: none, rpc: none, control: none }
    const planned = planBounds({ maxInFlight: null, maxBodyBytes: null, drainMs: null, timeouts })
    const stated = fileKeys().flatMap(({ path: [of, ...path], byDefault, type }) => {
      if (of !== 'bounds' || byDefault === null || byDefault === 'as below') return []
      const value = type.startsWith('[duration]')
        ? parseDuration(byDefault)
        : (parseBytes(byDefault) ?? Number(byDefault))
      return [[path.join('.'), value] as const]
    })
    const flat = Object.entries(planned.timeouts).flatMap(([call, times]) =>
      Object.entries(times).map(([key, ms]) => [`timeouts.${call}.${key.replace('Ms', '')}`, ms] as const),
    )
    const { maxInFlight, maxBodyBytes, drainMs } = planned
    expect(Object.fromEntries(stated)).toEqual({
      'max-in-flight': maxInFlight,
      'max-body': maxBodyBytes,
      drain: drainMs,
      ...Object.fromEntries(flat),
    })
  })
})

/** A part of a scenario, completed to a whole one with the calls and a stage of the first example. */
function completed(fragment: string): string {
  const part = toObject(parse(fragment)) ?? {}
  const whole = toObject(parse(wholeExample)) ?? {}
  const { thresholds: _, slo: __, ...base } = { ...whole, ...part }
  const own = Object.keys(toObject(part.calls) ?? {})
  const sendsAll = { name: 'own', duration: '600s', shape: 'sequence', calls: own }
  return stringify({
    ...base,
    ...(part.thresholds !== undefined && { thresholds: part.thresholds }),
    ...(part.slo !== undefined && { slo: part.slo }),
    calls: { ...toObject(whole.calls), ...toObject(part.calls) },
    stages: part.stages ?? (own.length > 0 ? [sendsAll] : whole.stages),
  })
}

const recording = {
  runId: 'last-night',
  durationMs: 1_000,
  count: 2,
  offsetMs: (index: number) => index * 500,
  call: () => 'rpc',
  caller: () => 0,
}

/** Some examples need keys for chat, which the document does not promise. */
const contract = parseProfile('idempotency: { calls: [rpc, chat] }', 'p.yaml')

const planOf = (text: string): Plan =>
  makePlan(
    parseScenario(text, 'example.yaml', contract),
    contract,
    { seed: null, target: null, budgetUsd: null },
    { recordings: new Map(['again', 'traffic'].map(name => [name, recording])), publishedLimits: notDiscovered },
  )

describe('the examples', () => {
  const blocks = blocksOf(page, 'yaml')

  test('are many', () => {
    expect(blocks.length).toBeGreaterThan(20)
  })

  const titled = [...blocks, ...blocksOf(guide, 'yaml')].map(
    text => [text.split('\n').slice(0, 2).join(' '), text] as const,
  )
  test.each(titled)('can be planned: %s', (_, text) => {
    const plan = planOf(toObject(parse(text))?.name === undefined ? completed(text) : text)
    expect(plan.forecast.requests).toBeGreaterThan(0)
  })

  test('of a whole scenario passes, and fails if the service lies', async () => {
    expect(blocks[0]).toBe(wholeExample)
    const { report } = await virtualRun({ scenario: wholeExample })
    expect([report.verdict, report.reasons]).toEqual(['pass', [expect.stringContaining('4 thresholds met')]])
    const lies = [lieByName('failed-item-in-full')].filter(lie => lie !== undefined)
    const liar = await virtualRun({ scenario: wholeExample, lies })
    expect(liar.report.verdict).toBe('fail')
  })
})

describe('the measures', () => {
  test('have examples that parse', () => {
    const examples = Object.values(countDefinitions).map(([, , example]) => example)
    expect(examples.filter(example => !isThreshold(example))).toEqual([])
  })

  test('have an example with every operator and aggregate', () => {
    const words = thresholdExample.split(/\s+/)
    expect([...operators, 'mean', 'min', 'max', 'p(95)'].filter(word => !words.includes(word))).toEqual([])
  })
})

test('every way to write a unit is understood', () => {
  const parsers: Readonly<Record<string, (text: string) => unknown>> = {
    name: text => (/^[a-z0-9][a-z0-9-]{0,63}$/.test(text) ? text : null),
    duration: parseDuration,
    range: text => rangeField(1, 10).safeParse(/^\d+$/.test(text) ? Number(text) : text).data,
    'duration range': text => durationRangeField.safeParse(text).data,
    rate: parseRate,
    'burst size': text => (Number.isInteger(Number(text)) ? Number(text) : parseShareOfTier(text)),
    'point of a response': text => pointOf(text),
    'read rate': parseReadRate,
    share: parsePercent,
    dollars: parseUsd,
    bytes: text => parseBytes(/^\d+$/.test(text) ? Number(text) : text),
  }
  const unknown = units.flatMap(([unit, written]) => written.filter(text => (parsers[unit]?.(text) ?? null) === null))
  expect(unknown).toEqual([])
  const titles = [...page.matchAll(/\[([a-z ]+)\]\(#units\)/g)].map(([, title]) => title)
  expect([...new Set(titles)].filter(title => !units.some(([unit]) => unit === title))).toEqual([])
})
