import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import type { RequestHandler, Response } from 'express'
import { describe, expect, test } from 'vitest'
import { learn } from '../../../src/learn/learn.ts'
import { learnedProfile } from '../../../src/learn/profile-text.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { undiciTransport } from '../../../src/produce/transport/undici.ts'
import { reportSchema } from '../../../src/report/document.ts'
import { todays } from '../../support/nightly.ts'
import { freshDirectory, turnpike } from '../../support/turnpike.ts'
import { type Bug, type Limiter, limit, limiters, startGateway, windowMs } from './express-gateway.ts'

/** What a user of a gateway sees: `learn` writes a profile, and a run uses it as it is. */
async function learnAndRun(kind: Limiter, bug: Bug = {}) {
  const { url, server } = await startGateway(kind, bug)
  try {
    const clock = systemClock()
    const transport = undiciTransport({ baseUrl: url, clock, maxConnections: 2 })
    const caller = { kind: 'key' as const, name: 'learn', keys: [`key-${randomUUID()}`] }
    const lesson = await learn({ send: transport.send, clock, caller, zeroBalanceKey: null, budgetPico: null })
    await transport.close()
    const { yaml, differences } = learnedProfile(lesson, url)
    const folder = freshDirectory()
    const [profile, out] = [`${folder}/learned.yaml`, `${folder}/run`]
    // Its documentation states the algorithm, which few calls cannot tell.
    writeFileSync(profile, yaml.replace(/^limits:$/m, 'limits:\n  algorithm: fixed-window'))
    const args = ['run', 'test/slow/gateways/limits.yaml', '--target', url, '--profile', profile, '--out', out]
    const ended = await turnpike([...args, '--quiet', '--no-warm-up'], { TURNPIKE_KEYS: `key-${randomUUID()}` })
    expect(ended.stderr).toBe('')
    const report = reportSchema.parse(JSON.parse(readFileSync(`${out}/report.json`, 'utf8')))
    const found = report.findings.map(({ clause, message }) => `${clause}: ${message}`)
    return { yaml, named: [...differences.filter(each => /^(limit|retry)\./.test(each)), ...found], report }
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const dialects = {
  legacy: 'github',
  'draft-6': 'kong',
  'draft-7': 'draft7',
  'draft-8': 'ietf',
  'rate-limiter-flexible': 'github',
  'rate-limiter-flexible-evenly': 'github',
  'rate-limiter-flexible-blocking': 'github',
} as const satisfies Readonly<Record<Limiter, string>>

describe.concurrent('an honest gateway is learned and accused of nothing', () => {
  test.each(todays(limiters, 2))('%s', async kind => {
    const { yaml, named, report } = await learnAndRun(kind)
    expect(yaml).toContain(`dialect: "${dialects[kind]}"`)
    expect(yaml).toContain(`windowMs: ${windowMs}`)
    expect(yaml).toContain('and nothing else of the document')
    expect(named).toEqual([])
    expect(report.limits.some(({ rejected }) => rejected > 0)).toBe(true)
    expect(report.verdict, report.reasons.join('; ')).toBe('pass')
  })
})

const set = (name: string, value: (text: string) => string) => (response: Response) => {
  const text = response.getHeader(name)
  if (text !== undefined) response.setHeader(name, value(String(text)))
}
const on429 = (change: (response: Response) => void) => (response: Response) => {
  if (response.statusCode === 429) change(response)
}
const plus = (more: number) => (text: string) => String(Number(text) + more)

const secondsUntil = (resetMs: number): string => String(Math.ceil((resetMs - Date.now()) / 1_000))

/** The headers of draft 6. */
const state = (response: Response, used: number, resetMs: number) =>
  response.set({
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(Math.max(0, limit - used)),
    'RateLimit-Reset': secondsUntil(resetMs),
    'RateLimit-Policy': `${limit};w=${windowMs / 1_000}`,
  })

const refuse = (response: Response, resetMs: number) =>
  response
    .set('Retry-After', secondsUntil(resetMs))
    .status(429)
    .json({ error: { message: 'Too many requests' } })

/** Looks at its count, waits for something, and counts then. */
const checksThenActs = (): RequestHandler => {
  let used = 0
  let resetMs = 0
  return async (_, response, next) => {
    if (Date.now() >= resetMs) [used, resetMs] = [0, Math.ceil(Date.now() / 1_000) * 1_000 + windowMs]
    const isOpen = used < limit
    await new Promise(resolve => setTimeout(resolve, 50))
    if (isOpen) used++
    state(response, used, resetMs)
    if (isOpen) return next()
    refuse(response, resetMs)
  }
}

/** Two processes, each with a count of its own, take turns. */
const twoProcesses = (): RequestHandler => {
  const stores = [0, 0]
  let resetMs = 0
  let turn = 0
  return (_, response, next) => {
    if (Date.now() >= resetMs) {
      stores.fill(0)
      resetMs = Math.ceil(Date.now() / 1_000) * 1_000 + windowMs
    }
    const store = turn++ % 2
    const used = (stores[store] ?? 0) + 1
    stores[store] = used
    state(response, used, resetMs)
    if (used <= limit) return next()
    refuse(response, resetMs)
  }
}

const bugs: readonly (readonly [name: string, kind: Limiter, bug: Bug, clause: RegExp])[] = [
  [
    'its limit never bites',
    'draft-6',
    { enforces: 1_000, headers: set('RateLimit-Limit', () => String(limit)) },
    /^limit\.requests\.(enforced|remaining)/,
  ],
  ['its limit bites 30 % early', 'rate-limiter-flexible', { enforces: 4 }, /^limit\.requests\.(not-early|remaining)/],
  [
    'every 429 states the same wait',
    'draft-6',
    { headers: on429(set('Retry-After', () => '20')) },
    /^limit\.requests\.reset/,
  ],
  [
    'a 429 states no wait',
    'draft-7',
    { headers: on429(response => response.removeHeader('Retry-After')) },
    /^limit\.requests\.headers: retry-after is nothing on a 429/,
  ],
  [
    'a 429 states too short a wait',
    'draft-8',
    { headers: on429(set('Retry-After', () => '1')) },
    /^retry\.after-reset/,
  ],
  ['a wait of 14 hours', 'draft-6', { headers: on429(set('Retry-After', () => '50400')) }, /^limit\.requests\.reset/],
  ['a reset in the past', 'legacy', { headers: set('X-RateLimit-Reset', plus(-600)) }, /^limit\.requests\.reset/],
  [
    'remaining does not count this request',
    'draft-6',
    { headers: set('RateLimit-Remaining', plus(1)) },
    /^limit\.requests\.remaining/,
  ],
  [
    'remaining never falls',
    'legacy',
    { headers: set('X-RateLimit-Remaining', () => String(limit)) },
    /^limit\.requests\.remaining/,
  ],
  ['two processes count apart', 'draft-6', { instead: twoProcesses }, /^limit\.requests\.(remaining|enforced)/],
  [
    'it checks, waits, and counts then',
    'draft-6',
    { instead: checksThenActs },
    /^limit\.requests\.(remaining|enforced)/,
  ],
  [
    'a request above the limit gets a 503',
    'draft-7',
    {
      headers: on429(response => {
        response.statusCode = 503
      }),
    },
    /^limit\.requests\.enforced/,
  ],
]

describe.concurrent('a bug of a gateway is named', () => {
  // On a busy machine the questions of `learn` may take longer than a window, which then teaches no limit.
  test.each(todays(bugs, 4))('%s', { retry: 1 }, async (_, kind, bug, clause) => {
    const { named, report } = await learnAndRun(kind, bug)
    expect(named, report.reasons.join('; ')).toContainEqual(expect.stringMatching(clause))
  })
})
