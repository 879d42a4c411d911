import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { documentedContract } from '../../src/contract/documented.ts'
import { judgeLog } from '../../src/judge/judge-run.ts'
import { UsageError } from '../../src/lib/usage-error.ts'
import { makeReport } from '../../src/run/make-report.ts'
import { readJudgedPlan } from '../../src/storage/run-directory.ts'
import { todays } from '../support/nightly.ts'
import { recordedRun } from '../support/recorded-run.ts'
import { readWholeLines } from '../support/whole-lines.ts'

const directory = join(mkdtempSync(join(tmpdir(), 'turnpike-edited-')), 'run')
const planFile = join(directory, 'plan.json')
const logFile = join(directory, 'observations.ndjson.gz')
let plan = ''
let lines: readonly string[] = []

beforeAll(async () => {
  await recordedRun(directory, { scenario: 'scenarios/smoke.yaml' })
  plan = readFileSync(planFile, 'utf8')
  lines = await readWholeLines(logFile)
})

type Path = readonly (string | number)[]

/** The paths of all members of a value, of lists only the first two. */
function pathsOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  const members: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? value.slice(0, 2).map((each, index) => [index, each] as const)
    : Object.entries(value)
  return [path, ...members.flatMap(([key, each]) => pathsOf(each, [...path, key]))]
}

const removed = Symbol('removed')

/** A copy of JSON text with another value at a path. */
function edited(json: string, path: Path, to: unknown): string {
  const root: unknown = JSON.parse(json)
  const parent = path.slice(0, -1).reduce<unknown>((part, key) => Reflect.get(part as object, key), root) as object
  const key = path.at(-1) ?? ''
  if (to === removed) Reflect.deleteProperty(parent, key)
  else Reflect.set(parent, key, to)
  return JSON.stringify(root)
}

const causeOf = (work: () => unknown): unknown => {
  try {
    work()
    return null
  } catch (cause) {
    return cause
  }
}

describe('an edited plan', () => {
  test('that is as it was written is read', () => {
    expect(readJudgedPlan(directory).plan).toEqual(JSON.parse(plan))
  })

  test.each([
    ['lacks', removed],
    ['has an object as', { x: 1 }],
    ['has a negative number as', -1.5],
  ])('that %s any of its members is refused with the path', (_, to) => {
    const accepted: string[] = []
    for (const path of todays(pathsOf(JSON.parse(plan)).slice(1), 6)) {
      writeFileSync(planFile, edited(plan, path, to))
      const cause = causeOf(() => readJudgedPlan(directory))
      if (cause === null) accepted.push(path.join('.'))
      else expect(cause, path.join('.')).toBeInstanceOf(UsageError)
    }
    writeFileSync(planFile, plan)
    // What depends on the kind of call, on a name, or on nothing.
    const open =
      /^(notPromised|mustJudge|callers\.wallets|callers\.separate|only|fewerKeys|notOffered|values|isBudgetUnlimited|calls\.[a-z-]+|slo(\..*)?|stages\.\d\.load\.search\.mix.*|thresholds\.\d|.*\.bound|calls\.\w+\.options\.(body|parameters)(\..*)?|forecast\..*|limits\.scopes\..*|.*\.mix\.\d|.*\.methods\.\d|callers\.names\.\d|.*\.calls\.\d)$/
    expect(accepted.filter(path => !open.test(path))).toEqual([])
  })
})

describe('an edited log', () => {
  const judge = async (text: readonly string[]) => {
    writeFileSync(logFile, gzipSync(`${text.join('\n')}\n`))
    const job = { plan: JSON.parse(plan), contract: documentedContract, head: JSON.parse(lines[0] ?? '') }
    const { skipped: _, ...result } = await judgeLog(job, logFile)
    return makeReport(job, [result], async function* () {})
  }

  test('that is as it was written passes', async () => {
    expect((await judge(lines)).report.verdict).toBe('pass')
  })

  test.each([
    ['lacks', removed],
    ['has null as', null],
    ['has an object as', { x: 1 }],
    ['has a negative number as', -1.5],
    ['has a huge number as', 1e300],
    ['has a text as', 'x'.repeat(99)],
  ])('that %s any member of its lines is refused, or judged', async (_, to) => {
    const kinds = new Map<string, number>()
    lines.forEach((line, index) => {
      const { request, response, turnpike, ended } = JSON.parse(line)
      kinds.set(`${request?.kind} ${response?.body?.kind} ${turnpike} ${ended}`, index)
    })
    let refused = 0
    for (const index of kinds.values()) {
      const line = lines[index] ?? ''
      for (const path of todays(pathsOf(JSON.parse(line)).slice(1), 6)) {
        try {
          await judge([...lines.slice(0, Math.min(index, 1)), edited(line, path, to)])
        } catch (cause) {
          expect(cause instanceof UsageError ? null : cause, `${index}: ${path.join('.')}`).toBeNull()
          refused++
        }
      }
    }
    expect(refused).toBeGreaterThan(10)
  })

  test.each([
    ['a damaged line in the middle', (all: readonly string[]) => all.with(3, '{"id":'), 'line 4: got a damaged line'],
    ['two headers', (all: readonly string[]) => [...all.slice(0, 3), ...all], 'line 4: got a second header'],
    ['a line after the footer', (all: readonly string[]) => [...all, all[1] ?? ''], 'got a line after the last one'],
    ['no header', (all: readonly string[]) => all.slice(1), 'line 1: got no header'],
    [
      'deep nesting',
      (all: readonly string[]) => all.with(2, `{"id":${'['.repeat(9e4)}${']'.repeat(9e4)},"outcome":1}`),
      'line 3: got a deeply nested line',
    ],
  ])('with %s is refused', async (_, edit, message) => {
    await expect(judge(edit(lines))).rejects.toThrow(message)
  })
})
