import { describe, expect, test } from 'vitest'
import type { Contract } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { dialectNames } from '../../src/contract/limit-headers/limit-headers.ts'
import { parseProfile } from '../../src/contract/profile.ts'
import { notPromised } from '../../src/contract/promises.ts'
import { firstScenario } from '../../src/learn/first-scenario.ts'
import type { Transport } from '../../src/produce/transport/transport.ts'
import { type Lie, lie } from '../../src/service/lies/lie.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { changeReplies, dropHeaders, hasStatus, isAny, isReplay, setHeader } from '../../src/service/lies/replies.ts'
import { foreign, learnForeign, limitLines, speaking } from '../support/learn-foreign.ts'
import { learnFrom } from '../support/learn-from.ts'
import { todays } from '../support/nightly.ts'
import { virtualRun } from '../support/virtual-run.ts'

describe('a gateway that states its limits in a dialect', () => {
  const stating = dialectNames.filter(name => name !== 'none')
  test.each(todays(stating, 2))('%s is learned, and nothing is held against it', async dialect => {
    const { yaml, differences } = await learnForeign(dialect)
    const { limits, ...profile } = parseProfile(yaml, 'learned.yaml')
    expect(limits.dialect).toBe(dialect)
    expect(limitLines(differences)).toEqual([])
    expect(notPromised(profile)).not.toContain('limit.requests.remaining')
    expect(notPromised(profile)).toContain('rpc.response')
    expect(yaml).toMatch(/# call \d+, POST \/chat\/completions, 200: its responses have /)
    expect(notPromised(profile)).toContain('rpc.replay.header')
    expect(yaml.replaceAll('\n#   ', ' ')).toMatch(/idempotency\.calls: .* a repeated key and body gets a new response/)
  })

  test('a bucket that fills up between requests is used up all the same', async () => {
    const { yaml } = await learnForeign('kong', [], { algorithm: 'token-bucket', windowMs: 12_000 })
    expect(yaml).not.toContain('no 429 came')
    expect(parseProfile(yaml, 'learned.yaml').limits.windowMs).toBe(12_000)
  })

  test('a 429 may state its wait alone', async () => {
    const names = ['limit', 'remaining', 'reset'].map(part => `x-ratelimit-${part}-requests`)
    const bare = lie('bare', 'A 429 states its wait alone.', changeReplies(hasStatus(429), dropHeaders(...names)))
    const { differences } = await learnForeign('litellm', [bare])
    expect(limitLines(differences)).toEqual([])
  })

  test.each([
    ['the same wait each time', [changeReplies(hasStatus(429), setHeader('retry-after', '10'))], true],
    ['the wait until its end', [], false],
  ])('without a reset, a window is as long as %s, if so', async (_, overrides, isLearned) => {
    const lies = overrides.map(each => lie('constant', 'Every 429 states the whole window.', each))
    const { yaml } = await learnForeign('litellm', lies, { windowMs: 10_000 })
    expect(yaml.includes('every 429 states a wait')).toBe(isLearned)
    expect(parseProfile(yaml, 'learned.yaml').limits.windowMs).toBe(isLearned ? 10_000 : 60_000)
  })

  test('none states no limit, so only what counts show is promised', async () => {
    const { yaml } = await learnForeign('none')
    const profile = parseProfile(yaml, 'learned.yaml')
    expect(profile.limits.dialect).toBe('none')
    expect(notPromised(profile)).toContain('limit.requests.remaining')
    expect(notPromised(profile)).not.toContain('limit.requests.enforced')
    expect(yaml).toContain('no response has a header about limits')
  })

  test('the length of a window is read from a policy', async () => {
    const { yaml } = await learnForeign('ietf', [], { windowMs: 30_000 })
    expect(parseProfile(yaml, 'learned.yaml').limits.windowMs).toBe(30_000)
  })

  test.each([
    [
      'ietf',
      {
        burst: { counts: 'requests', amount: 11, windowMs: 30_000 },
        daily: { counts: 'tokens', amount: 900_000, windowMs: 30_000 },
      },
    ],
    [
      'anthropic',
      {
        'input-tokens': { counts: 'input-tokens', amount: 900_000, windowMs: 60_000 },
        'output-tokens': { counts: 'output-tokens', amount: 800_000, windowMs: 60_000 },
      },
    ],
  ] as const)('the further limits of %s are learned, and nothing is held against it', async (dialect, limits) => {
    const open = { units: null, algorithm: null, headers: {}, unused: null }
    const further = Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, { ...limit, ...open }]))
    const { yaml, differences } = await learnForeign(dialect, [], { further })
    expect(parseProfile(yaml, 'learned.yaml').limits.further).toEqual(further)
    expect(limitLines(differences)).toEqual([])
  })

  test.each([
    ['a partition key', ';pk=:YWNtZQ==:', true],
    ['the unit of requests', ';qu="requests"', true],
    ['a unit other than requests', ';qu="content-bytes"', false],
  ])('a further policy with %s', async (_, parameter, isLearned) => {
    const burst = {
      counts: 'requests',
      amount: 11,
      windowMs: 30_000,
      algorithm: null,
      headers: {},
      units: null,
      unused: null,
    } as const
    const over = (service: Transport) =>
      foreign(async (...request) => {
        const answer = await service(...request)
        const policies = answer.headers['ratelimit-policy']
        if (policies === undefined) return answer
        return { ...answer, headers: { ...answer.headers, 'ratelimit-policy': `${policies}${parameter}` } }
      })
    const { yaml } = await learnFrom({ contract: speaking('ietf', { further: { burst } }), over })
    const { further, windowMs } = parseProfile(yaml, 'learned.yaml').limits
    expect([further, windowMs]).toEqual([isLearned ? { burst } : {}, 60_000])
  })

  test('a policy of tokens before that of requests is not taken for it', async () => {
    const open = { units: null, algorithm: null, headers: {}, unused: null }
    const daily = { counts: 'tokens', amount: 900_000, windowMs: 30_000, ...open } as const
    const turned = (list: string) => list.split(', ').toReversed().join(', ')
    const over = (service: Transport) =>
      foreign(async (...request) => {
        const answer = await service(...request)
        const { ratelimit, 'ratelimit-policy': policies } = answer.headers
        if (ratelimit === undefined || policies === undefined) return answer
        const stated = { ratelimit: turned(ratelimit), 'ratelimit-policy': turned(policies) }
        return { ...answer, headers: { ...answer.headers, ...stated } }
      })
    const { yaml, differences } = await learnFrom({ contract: speaking('ietf', { further: { daily } }), over })
    const { further, windowMs } = parseProfile(yaml, 'learned.yaml').limits
    expect([further, windowMs]).toEqual([{ daily }, 60_000])
    expect(limitLines(differences)).toEqual([])
  })

  test.each(['kong', 'github', 'anthropic'] as const)(
    'the length of a window is likely by the resets of %s',
    async dialect => {
      const { yaml } = await learnForeign(dialect, [], { windowMs: 10_000 })
      expect(parseProfile(yaml, 'learned.yaml').limits.windowMs).toBe(10_000)
      expect(yaml).toMatch(/: likely, since its\s/)
    },
  )

  test('a reset in another form than that of the dialect is learned as such', async () => {
    const inSeconds = { header: 'x-ratelimit-reset-requests', form: 'seconds', member: null } as const
    const { yaml, differences } = await learnForeign('openai', [], { headers: { 'requests-reset': inSeconds } })
    const { limits } = parseProfile(yaml, 'learned.yaml')
    expect([limits.dialect, limits.headers]).toEqual(['openai', { 'requests-reset': inSeconds }])
    expect(limitLines(differences)).toEqual([])
  })

  test('a header that it does not have is learned as missing', async () => {
    const withoutLimit = { 'requests-limit': null } as const
    const { yaml } = await learnForeign('kong', [], { headers: withoutLimit })
    expect(parseProfile(yaml, 'learned.yaml').limits.headers).toEqual(withoutLimit)
  })
})

test('the documented service that speaks a dialect stays the documented service', async () => {
  const { yaml, partial } = await learnFrom({ contract: speaking('kong') })
  expect(partial).toBeNull()
  expect(parseProfile(yaml, 'learned.yaml').limits.dialect).toBe('kong')
})

test('headers with a prefix, a version and a balance do not make it the documented service', async () => {
  const { partial } = await learnFrom({
    contract: speaking('openai'),
    over:
      service =>
      async (request, ...more) => {
        const answer = await foreign(service)(request, ...more)
        return { ...answer, headers: { ...answer.headers, 'x-acme-balance-usd': '1.5' } }
      },
  })
  expect(partial?.what).toBe('a server with the chat interface of OpenAI with limits, and nothing else of the document')
})

describe('what contradicts itself is a defect, and stays promised', () => {
  const is429 = hasStatus(429)
  const wait = (seconds: string) => changeReplies(is429, setHeader('retry-after', seconds))
  const defects: readonly (readonly [Lie | undefined, RegExp])[] = [
    [lie('short', 'A second.', wait('1')), /^retry\.after-reset: /],
    [lie('long', 'An hour.', wait('3600')), /^limit\.requests\.reset: a 429 .* states a wait of 3600 s/],
    [
      lie('silent', 'No wait.', changeReplies(is429, dropHeaders('retry-after'))),
      /^limit\.requests\.headers: retry-after is nothing on a 429/,
    ],
    [
      lie(
        'far',
        'A day.',
        changeReplies(
          isAny,
          setHeader('x-ratelimit-reset-requests', value => String(Number(value) + 86_400_000)),
        ),
      ),
      /^limit\.requests\.reset: the reset/,
    ],
    [lie('same', 'Each states 40 s.', wait('40')), /^limit\.requests\.reset: a (429|request) of /],
    [lieByName('remaining-never-falls'), /^limit\.requests\.(remaining|enforced): /],
  ]

  test.each(defects)('%#', async (defect, named) => {
    if (defect === undefined) throw new Error('unknown lie')
    const { differences, yaml } = await learnForeign('kong', [defect])
    expect(limitLines(differences)).toContainEqual(expect.stringMatching(named))
    const clause = String(named)
      .match(/limit\\\.requests\\\.(headers|reset)|retry\\\.after-reset/)?.[0]
      .replaceAll('\\', '')
    if (clause !== undefined) expect(notPromised(parseProfile(yaml, 'learned.yaml'))).not.toContain(clause)
  })

  test('a 429 without a wait is mentioned where no dialect promises one', async () => {
    const { yaml } = await learnForeign('envoy')
    expect(yaml.replaceAll('\n#   ', ' ')).toMatch(
      /limits\.retryAfter: call \d+, .*, 429: it states no wait in Retry-After, only its reset/,
    )
  })
})

const told = (name: string) => [lieByName(name)].filter(each => each !== undefined)

describe('replays of completions', () => {
  const marks: readonly (readonly [string, Partial<Contract['idempotency']>])[] = [
    ['another header and value', { replayHeader: 'x-cache', replayValue: 'hit', conflict: [409] }],
    ['its bytes alone', { replayHeader: null, conflict: [422] }],
    ['a status', { replayHeader: null, replayStatus: 208 }],
  ]
  const withReplays = async (terms: Partial<Contract['idempotency']>, lies: readonly Lie[] = []) => {
    const { idempotency, ...others } = speaking('kong')
    const serviceContract: Contract = { ...others, idempotency: { ...idempotency, calls: ['chat'], ...terms } }
    return { ...(await learnFrom({ contract: serviceContract, lies, over: foreign })), serviceContract }
  }

  test.each(marks)('are learned by %s', async (_, terms) => {
    const { yaml, differences } = await withReplays(terms)
    const profile = parseProfile(yaml, 'learned.yaml')
    expect(profile.idempotency).toMatchObject({ calls: ['chat'], ...terms })
    expect(notPromised(profile)).not.toContain('rpc.replay.conflict')
    expect(differences).toHaveLength(1)
  })

  test('with other bytes are a defect', async () => {
    const { yaml, differences } = await withReplays({}, told('replay-reformatted'))
    const profile = parseProfile(yaml, 'learned.yaml')
    expect(profile.idempotency.calls).toEqual(['chat'])
    expect(differences).toContainEqual(expect.stringContaining('rpc.replay.body: '))
    expect(notPromised(profile)).not.toContain('rpc.replay.body')
  })

  test.each([
    ['pass', []],
    ['fail', told('replay-reformatted')],
  ] as const)('are part of the first scenario, whose verdict is %s', async (verdict, lies) => {
    const lesson = await withReplays({ conflict: [409] })
    const scenario = firstScenario(lesson, { tierPerMinute: null, budgetUsd: null })
    const profile = parseProfile(lesson.yaml, 'learned.yaml')
    const { report } = await virtualRun({
      ...{ scenario: scenario.replace('profile: profile.yaml\n', ''), lies },
      ...{ contract: profile, serviceContract: lesson.serviceContract },
    })
    expect([report.verdict, report.findings.map(({ clause }) => clause)], report.reasons.join('; ')).toEqual([
      verdict,
      verdict === 'pass' ? [] : ['rpc.replay.body'],
    ])
    expect(
      report.clauses.filter(({ id }) => /^rpc\.replay\.(header|body|conflict)/.test(id)).map(({ judged }) => judged),
    ).toEqual([2, 1, 1])
  })

  test('that claim a key before its request runs promise one charge', async () => {
    const lesson = await withReplays({ inProgress: [409], conflict: [422] })
    expect(parseProfile(lesson.yaml, 'x').idempotency).toMatchObject({ inProgress: [409], concurrent: 'one-charge' })
    expect(firstScenario(lesson, { tierPerMinute: null, budgetUsd: null })).toContain(
      'race: { kind: replay, of: chat-whole, concurrent: true }',
    )
  })

  test('that run two requests with one key at once are told, and promise no such thing', async () => {
    const { yaml, differences } = await withReplays({}, told('key-stored-after-its-reply'))
    expect(parseProfile(yaml, 'x').idempotency.concurrent).toBe('best-effort')
    expect(differences).toContainEqual(expect.stringContaining('so a repeated one may pay twice'))
  })

  test('are promised if the given profile names their header, though a repeated request runs again', async () => {
    const demanded = parseProfile('idempotency: { header: X-Request-Key }', 'x')
    const { yaml, differences } = await learnFrom({ contract: speaking('kong'), over: foreign, demanded })
    expect(notPromised(parseProfile(yaml, 'x'))).not.toContain('rpc.replay.header')
    expect(differences).toContainEqual(expect.stringMatching(/^rpc\.replay\.header: .* is not marked as a replay/))
  })

  test('may be answered before limits are looked at', async () => {
    const names = ['limit', 'remaining', 'reset'].map(part => `x-ratelimit-${part}-requests`)
    const early = lie('early', 'A replay states no limit.', changeReplies(isReplay, dropHeaders(...names)))
    expect(limitLines((await withReplays({}, [early])).differences)).toEqual([])
  })

  test('for another body are told, and no conflict is promised', async () => {
    const { yaml } = await withReplays({}, told('conflict-from-cache'))
    expect(notPromised(parseProfile(yaml, 'learned.yaml'))).toContain('rpc.replay.conflict')
    expect(yaml.replaceAll('\n#   ', ' ')).toContain('a used key with another body gets the stored response')
  })
})

describe('credits', () => {
  const demanded = parseProfile('billing: { balance: { path: /credits } }', 'x')
  /** A gateway with an endpoint that states more than the balance. */
  const withCredits = async (billing: string, lies: readonly Lie[] = []) => {
    const serviceContract = parseProfile(`billing: { ${billing} }`, 'x')
    const over: typeof foreign = service => async (request, signal) => {
      if (request.path !== '/credits') return foreign(service)(request, signal)
      const answer = await service(request, signal)
      const body = { ...JSON.parse(answer.body.toString()), asked_at: request.headers['x-none'] ?? `${Math.random()}` }
      return { ...answer, body: Buffer.from(JSON.stringify(body)) }
    }
    return { ...(await learnFrom({ contract: serviceContract, lies, over, demanded })), serviceContract }
  }

  test.each([
    ['left', '/data/credits~1left'],
    ['spent', '/usage'],
  ] as const)(
    '%s, at an endpoint that a profile names, are found by the cost of a completion',
    async (counts, pointer) => {
      const lesson = await withCredits(
        `costHeader: x-cost, balance: { path: /credits, pointer: ${pointer}, counts: ${counts} }`,
      )
      const profile = parseProfile(lesson.yaml, 'learned.yaml')
      expect(profile.billing).toMatchObject({ costHeader: 'x-cost', balance: { path: '/credits', pointer, counts } })
      expect(notPromised(profile)).not.toContain('billing.conservation')
      for (const [lie, found] of [
        [null, []],
        ['charged-twice', ['billing.conservation']],
      ] as const) {
        const { report } = await virtualRun({
          scenario: firstScenario(lesson, { tierPerMinute: null, budgetUsd: null }).replace(
            'profile: profile.yaml\n',
            '',
          ),
          lies: [lie === null ? undefined : lieByName(lie)].filter(each => each !== undefined),
          ...{ contract: profile, serviceContract: lesson.serviceContract },
        })
        expect(report.findings.map(({ clause }) => clause)).toEqual(found)
      }
    },
  )

  /** Whose list of models states no prices, and whose streams state no cost. */
  const unpriced: typeof foreign = service => async (request, signal) => {
    const isBalance = request.path === '/credits'
    const answer = await (isBalance ? service : foreign(service))(request, signal)
    if (request.path.startsWith('/models')) {
      const { data, ...list } = JSON.parse(answer.body.toString())
      const bare = data.map(({ id, object }: { id: string; object: string }) => ({ id, object }))
      return { ...answer, body: Buffer.from(JSON.stringify({ ...list, data: bare })) }
    }
    return answer
  }

  test.each([
    [undefined, []],
    ['charged-twice', ['billing.conservation']],
  ] as const)('and prices are found without being named, so that a run judges them: %s', async (name, found) => {
    const price = { input: '100', output: '300', cacheInput: null, cacheWrite: null }
    const { billing } = parseProfile(
      'billing: { costHeader: x-credits-used, balance: { path: /credits, pointer: /left } }',
      'x',
    )
    const models = documentedContract.models.map(model => ({ ...model, usdPerMillion: price }))
    const serviceContract = { ...documentedContract, billing, models }
    const lesson = await learnFrom({ contract: serviceContract, over: unpriced })
    const profile = parseProfile(lesson.yaml, 'learned.yaml')
    expect(profile.billing).toMatchObject({
      costHeader: 'x-credits-used',
      balance: { path: '/credits', pointer: '/left' },
    })
    const priced = profile.models.filter(({ usdPerMillion }) => usdPerMillion !== null)
    expect(priced.map(({ usdPerMillion }) => usdPerMillion)).toEqual([price])
    const lies = name === undefined ? [] : told(name)
    const scenario = firstScenario(lesson, { tierPerMinute: null, budgetUsd: null })
    const { report } = await virtualRun({
      scenario: scenario.replace('profile: profile.yaml\n', ''),
      ...{ lies, contract: profile, serviceContract },
    })
    expect(report.findings.map(({ clause }) => clause)).toEqual(found)
    expect(report.clauses.find(({ id }) => id === 'billing.conservation')?.judged).toBeGreaterThan(0)
  })

  test('without a stated cost, an endpoint whose numbers move is no balance', async () => {
    const { yaml } = await withCredits('costHeader: x-none, balance: { path: /credits, pointer: /left }', [
      lie('costless', 'No cost.', changeReplies(isAny, dropHeaders('x-none'))),
    ])
    expect(notPromised(parseProfile(yaml, 'learned.yaml'))).toContain('billing.conservation')
  })
})
