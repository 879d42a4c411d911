import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { ProbeName } from '../../../../src/contract/probes.ts'
import {
  createDependentErrorsAudit,
  createInvalidRequestsAudit,
  judgeDependentErrors,
  judgeInvalidRequests,
} from '../../../../src/judge/audits/dependent-errors.ts'
import { createFindingLog } from '../../../../src/judge/findings/findings.ts'
import { type Random, randomStream } from '../../../../src/lib/random.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import type { RequestDescriptor } from '../../../../src/observation/requests/request.ts'
import type { RpcDescriptor } from '../../../../src/observation/requests/rpc.ts'
import { todays } from '../../../support/nightly.ts'
import { observed, responseOf } from '../checks/observed.ts'

type Sent = { readonly request: RpcDescriptor; readonly sentMs: number; readonly stage?: string }
/** The status of each request, in the order of sending. */
type Target = (sent: Sent, random: Random) => number

const rpc = (size: number, failing: boolean, textId = false): RpcDescriptor => ({
  kind: 'rpc',
  network: 'ethereum-mainnet',
  batch: size > 1,
  items: Array.from({ length: size }, (_, index) => ({
    id: textId ? `r-${index}` : index,
    method: 'eth_getBalance',
    failing: failing && index === 0,
  })),
  replay: null,
})

/** A mix of single calls and batches, some of which have a failing item, at instants of a Poisson process. */
function mixed(seed: number, count: number): readonly Sent[] {
  const random = randomStream(seed, 'requests')
  let sentMs = 0
  return Array.from({ length: count }, () => {
    sentMs += -Math.log(1 - random.next()) * 70
    const size = random.next() < 0.4 ? 1 : 10
    return { request: rpc(size, random.next() < (size === 1 ? 0.1 : 0.5), random.next() < 1 / 3), sentMs }
  })
}

const hasFailing = ({ items }: RpcDescriptor) => items.some(({ failing }) => failing)

/** The findings about a target. The requests are divided between workers. */
function findingsOf(sent: readonly Sent[], target: Target, seed: number, workers = 1) {
  const random = randomStream(seed, 'target')
  const audits = Array.from({ length: workers }, () => createDependentErrorsAudit({ contract: documentedContract }))
  const log = createFindingLog()
  for (const [id, each] of sent.entries()) audits[id % workers]?.add(observationOf(each, id, target(each, random)), 0)
  for (const audit of audits) audit.finish(true)
  judgeDependentErrors(
    audits.flatMap(audit => audit.counts()),
    log.reporterFor('dependent-errors'),
  )
  return log.findings()
}

const observationOf = ({ request, sentMs, stage = 'steady' }: Sent, id: number, status: number): Observation =>
  observed(request, responseOf(status, status === 200 ? {} : { error: 'Bad gateway' }), {
    id,
    stage,
    dueMs: sentMs,
    sentMs,
    endMs: sentMs + 50,
  })

const failingAt =
  (ratio: number): Target =>
  (_, random) =>
    random.next() < ratio ? 502 : 200

/** An outage of some seconds every half minute, in which most requests fail. */
const bursts =
  (lengthMs: number, ratio: number): Target =>
  ({ sentMs }, random) =>
    sentMs % 30_000 < lengthMs && random.next() < ratio ? 503 : 200

/** Longer requests fail more often, as under a time limit. */
const byLength: Target = ({ request }, random) => (random.next() < request.items.length * 0.04 ? 504 : 200)

/** Fails until it has recovered, then works until the next fault, each for a random number of requests. */
function inRuns(): Target {
  let [isDown, left] = [false, 0]
  return (_, random) => {
    if (left-- <= 0) [isDown, left] = [!isDown, random.int(isDown ? 60 : 12)]
    return isDown ? 500 : 200
  }
}

/** The third of eight backends fails, and each request goes to the next one. */
function roundRobin(): Target {
  let turn = 0
  return () => (turn++ % 8 === 2 ? 502 : 200)
}

describe('errors that do not depend on the request are no violation', () => {
  const honest: readonly (readonly [what: string, target: () => Target])[] = [
    ...[0.01, 0.05, 0.2, 0.5].map(ratio => [`${ratio * 100} % of all fail`, () => failingAt(ratio)] as const),
    ['outages of three seconds', () => bursts(3_000, 1)],
    ['outages of ten seconds with nine of ten failing', () => bursts(10_000, 0.9)],
    ['longer requests fail more often', () => byLength],
    ['faults come in runs', inRuns],
    ['one of eight backends fails', roundRobin],
  ]
  const all = Array.from({ length: 200 }, (_, index) => index + 1)
  const seeds = todays(all, 9)
  test.each(honest)('%s', (_, target) => {
    for (const seed of seeds) {
      const found = findingsOf(mixed(seed, 400), target(), seed, 1 + (seed % 2))
      expect(found.map(({ clause, message }) => `${seed}: ${clause}: ${message}`)).toEqual([])
    }
  })

  test('an outage that meets requests with a failing item alone, because they were sent apart', () => {
    const sent = Array.from({ length: 400 }, (_, index) => ({
      request: rpc(10, index >= 200),
      sentMs: index * 50,
    }))
    expect(findingsOf(sent, ({ request }) => (hasFailing(request) ? 502 : 200), 1)).toEqual([])
  })

  test('batches are not compared with single calls, nor with shorter batches, another network or another stage', () => {
    const others: readonly Sent[] = [
      { request: rpc(1, false), sentMs: 0 },
      { request: rpc(9, false), sentMs: 0 },
      { request: { ...rpc(10, false), network: 'base-mainnet' }, sentMs: 0 },
      { request: rpc(10, false), sentMs: 0, stage: 'other' },
    ]
    for (const other of others) {
      const sent = Array.from({ length: 600 }, (_, index) => ({
        ...(index % 2 === 0 ? { request: rpc(10, true) } : other),
        sentMs: index * 20,
      }))
      expect(findingsOf(sent, ({ request }) => (hasFailing(request) ? 502 : 200), 1)).toEqual([])
    }
  })
})

describe('errors that depend on the request violate the clause about it', () => {
  const liars: readonly (readonly [what: string, clause: string, target: Target])[] = [
    [
      'two of five batches with a failing item',
      'rpc.item-failure.status',
      ({ request }, random) => (request.batch && hasFailing(request) && random.next() < 0.43 ? 502 : 200),
    ],
    [
      'every failing single call',
      'rpc.item-failure.status',
      ({ request }) => (!request.batch && hasFailing(request) ? 500 : 200),
    ],
    [
      'half of what has a failing item, behind a proxy that fails',
      'rpc.item-failure.status',
      ({ request }, random) => (random.next() < (hasFailing(request) ? 0.6 : 0.1) ? 502 : 200),
    ],
    [
      'half of the single calls with a text as id',
      'rpc.id',
      ({ request }, random) =>
        !request.batch && typeof request.items[0]?.id === 'string' && random.next() < 0.5 ? 500 : 200,
    ],
  ]
  test.each(liars)('%s', (_, clause, target) => {
    for (let seed = 1; seed <= 20; seed++) {
      const found = findingsOf(mixed(seed, 600), target, seed, 1 + (seed % 2))
      expect(found.map(finding => finding.clause)).toEqual([clause])
    }
  })

  test('the finding names both counts, the statuses and the requests that show it', () => {
    const sent = Array.from({ length: 120 }, (_, index) => ({
      request: rpc(10, index % 3 === 0),
      sentMs: index * 100,
    }))
    const [finding] = findingsOf(sent, ({ request }) => (hasFailing(request) ? 502 : 200), 1)
    expect(finding?.message).toBe(
      '40 of 40 requests with a failing item failed (40 × status 502), and 0 of 80 similar ones without one that were sent beside them, which is no chance, expected status 200 for both',
    )
    expect(finding?.examples[0]?.decidedBy).toEqual([0, 3, 6, 9, 12, 15, 18, 21])
  })
})

describe('invalid requests that get a bare 500', () => {
  type Ended = { readonly probe: ProbeName | null; readonly status: number; readonly version?: boolean }

  const chat: RequestDescriptor = {
    kind: 'chat',
    model: 'ref-nano-3b',
    modelTier: 'XS',
    stream: false,
    promptTokens: 5,
    maxCompletionTokens: 8,
    options: null,
  }
  const refused = ['model-missing', 'messages-missing', 'n-no-number', 'stream-no-boolean', 'model-no-text'] as const

  const found = (ended: readonly Ended[], workers = 1) => {
    const audits = Array.from({ length: workers }, () => createInvalidRequestsAudit({ contract: documentedContract }))
    const log = createFindingLog()
    for (const [id, { probe, status, version = false }] of ended.entries()) {
      const response = responseOf(status, {}, status < 500 || version ? {} : { 'x-service-version': undefined })
      const request: RequestDescriptor = probe === null ? chat : { kind: 'probe', probe }
      audits[id % workers]?.add(observed(request, response, { id, sentMs: id * 20, endMs: id * 20 + 10 }), 0)
    }
    judgeInvalidRequests(
      audits.flatMap(audit => audit.counts()),
      log.reporterFor('probe'),
    )
    return log.findings()
  }

  /** Groups of invalid and of valid requests in turn. */
  const inTurn = (groups: number, statusOf: (probe: ProbeName | null, index: number) => number): readonly Ended[] =>
    Array.from({ length: groups }, () => [...refused, null, null, null, null, null])
      .flat()
      .map((probe, index) => ({ probe, status: statusOf(probe, index) }))

  test('violate the clause of each probe', () => {
    const ended = inTurn(6, probe => (probe === null ? 200 : 500))
    const findings = found(ended)
    expect(findings.map(({ clause }) => clause).toSorted()).toEqual([
      'chat.request',
      'chat.request.n',
      'chat.request.stream',
    ])
    expect(findings.find(({ clause }) => clause === 'chat.request.n')?.message).toBe(
      'n-no-number got status 500, expected a refusal: 30 of 30 invalid requests to this path, and 0 of 30 valid ones, failed',
    )
    expect(found(ended, 2)).toHaveLength(3)
  })

  const innocent: readonly (readonly [what: string, ended: readonly Ended[]])[] = [
    ['all requests fail', inTurn(6, () => 500)],
    ['half of all requests fail', inTurn(20, (_, index) => (index % 2 === 0 ? 500 : 200))],
    ['valid requests fail as often', inTurn(6, (probe, index) => (probe === null || index % 7 === 0 ? 500 : 400))],
    ['few requests', inTurn(1, probe => (probe === null ? 200 : 500))],
    ['two outages', inTurn(2, probe => (probe === null ? 200 : 500)).flatMap(each => [each, each, each, each])],
    ['no valid request', inTurn(9, () => 500).filter(({ probe }) => probe !== null)],
    ['a gateway that fails', inTurn(6, probe => (probe === null ? 200 : 502))],
    ['refusals', inTurn(6, probe => (probe === null ? 200 : 400))],
  ]
  test.each(innocent)('are no violation: %s', (_, ended) => {
    expect(found(ended)).toEqual([])
  })

  test('are judged by themselves with the version of the service', () => {
    expect(found(inTurn(6, probe => (probe === null ? 200 : 500)).map(each => ({ ...each, version: true })))).toEqual(
      [],
    )
  })
})

describe('a failing item of a batch', () => {
  /** Whether the other items of a batch have an error, by whether it has a failing item. */
  type Others = (hasFailing: boolean, random: Random) => boolean

  const found = (others: Others) => {
    const log = createFindingLog()
    const audit = createDependentErrorsAudit({ contract: documentedContract })
    const random = randomStream(7, 'others')
    for (let id = 0; id < 120; id++) {
      const request = rpc(4, random.next() < 0.5)
      const isFailed = others(hasFailing(request), random)
      const body = request.items.map(item => ({
        jsonrpc: '2.0',
        id: item.id,
        ...(item.failing || isFailed ? { error: { code: -32_603, message: 'down' } } : { result: '0x1' }),
      }))
      audit.add(observed(request, responseOf(200, body), { id, sentMs: 50 * id, endMs: 50 * id + 20 }), 0)
    }
    audit.finish(true)
    judgeDependentErrors(audit.counts(), log.reporterFor('dependent-errors'))
    return log.findings().map(({ clause, message }) => `${clause}: ${message.replace(/\d+ of \d+/g, 'n')}`)
  }

  test('must not fail the others, whatever their error is', () => {
    expect(found(hasFailingItem => hasFailingItem)).toEqual([
      'rpc.item-failure.alone: n batches with a failing item had an error for every other item, too, and n similar ones without one that were sent beside them, which is no chance, expected results of the other items',
    ])
  })
  test('is not the reason if the others fail as often without it', () => {
    expect(found(() => true)).toEqual([])
    expect(found((_, random) => random.next() < 0.4)).toEqual([])
    expect(found(() => false)).toEqual([])
  })
})
