import { readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { type Report, reportSchema } from '../../src/report/document.ts'
import { freshDirectory, turnpike } from './turnpike.ts'

/** Conversations with a cacheable system prompt, and completions in several forms, at once. */
const scenarioFor = (model: string): string => `
name: traffic
question: Is a server accused of what it does right, in sessions and in each form?
profile: openai-compatible
seed: 5
callers: { count: 2 }
calls:
  talk: { kind: conversation, ${model}turns: 3, user-tokens: 20, max-completion-tokens: 16, think: 50ms, system-tokens: 200 }
  whole: { kind: chat, ${model}stream: false, prompt-tokens: 20, max-completion-tokens: 16 }
  forms: { kind: twin, of: whole, as: [streamed, compressed, other-caller], concurrent: true }
stages:
  - { name: traffic, duration: 1s, shape: constant, rate: 16/s, mix: { talk: 1, forms: 1 } }
  - { name: end, duration: 500ms, shape: pause }
thresholds:
  - { expect: violations == 0, why: It does what it promises. }
must-judge: [twin.accepted, twin.tokens]
`

/** What a run says about a server of others. `model`: default, its first one. */
export async function trafficAt(
  target: string,
  { model, keys }: { readonly model?: string; readonly keys?: string } = {},
): Promise<{ readonly code: number | null; readonly report: Report }> {
  const folder = freshDirectory()
  writeFileSync(`${folder}/traffic.yaml`, scenarioFor(model === undefined ? '' : `model: ${model}, `))
  const flags = ['--target', target, '--quiet', '--out', `${folder}/run`]
  const environment = keys === undefined ? {} : { TURNPIKE_KEYS: keys }
  const { code, stderr } = await turnpike(['run', `${folder}/traffic.yaml`, ...flags], environment)
  if (stderr !== '') throw new Error(stderr)
  return { code, report: reportSchema.parse(JSON.parse(readFileSync(`${folder}/run/report.json`, 'utf8'))) }
}

/** Every session ends, and each of its turns has a row with a time and with a prompt that is longer than the last one. */
export function expectEachTurn({ conversations }: Report): void {
  const [{ started, finished, turns }] = conversations as readonly [Report['conversations'][number]]
  expect([started > 0, finished]).toEqual([true, started])
  expect(turns.map(({ turn, sent, answered, counted }) => [turn, sent, answered, counted])).toEqual(
    [1, 2, 3].map(turn => [turn, started, started, started]),
  )
  let shorter = 0
  for (const { promptTokens, ttftMs } of turns) {
    expect(promptTokens).toBeGreaterThan(shorter)
    expect(ttftMs.p50).toBeGreaterThan(0)
    shorter = promptTokens
  }
}
