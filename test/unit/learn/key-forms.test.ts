import { expect, test } from 'vitest'
import { parseProfile } from '../../../src/contract/profile.ts'
import { learn } from '../../../src/learn/learn.ts'
import { learnedProfile } from '../../../src/learn/profile-text.ts'
import { manualClock } from '../../../src/prove/manual-clock.ts'
import { memoryTransport } from '../../../src/prove/memory-run.ts'
import { defaultLatency } from '../../../src/service/capacity.ts'
import { createService } from '../../../src/service/service.ts'
import { learnFrom } from '../../support/learn-from.ts'

test.each(['api-key', 'x-api-key'])('learn finds that keys are in %s', async header => {
  const contract = parseProfile(`auth: { header: ${header}, scheme: null }`, 'p.yaml')
  const { yaml, differences, nothing } = await learnFrom({ contract })
  expect(nothing).toBeNull()
  expect(parseProfile(yaml, 'learned.yaml').auth).toMatchObject({ header, scheme: null })
  expect(yaml).toContain(`it accepts the key in ${header}, and refuses it as a bearer token`)
  expect(differences.filter(each => !each.startsWith('auth.'))).toEqual([])
})

test('learn asks with what the given profile adds, and the learned profile has it, without the secret', async () => {
  const secret = 'gw-4f6a8d2c9e1b7035'
  const code = '9d1c7a3e5b2f80'
  const demanded = parseProfile(
    `
auth: { header: x-gateway-key, scheme: Key }
requestHeaders: { x-provider: openai, x-secret: { env: TURNPIKE_HEADER_GATEWAY } }
requestQuery: { api-version: 2024-06-01, code: { env: TURNPIKE_QUERY_CODE } }
paths: { chat: /v2/chat }
`,
    'p.yaml',
  )
  const clock = manualClock()
  const addedSecrets = { TURNPIKE_HEADER_GATEWAY: secret, TURNPIKE_QUERY_CODE: code }
  const service = createService({
    ...{ contract: demanded, clock, seed: 1, lies: [], timing: defaultLatency, addedSecrets },
    ...{ openingBalanceUsd: '10', openingBalanceDiem: '0' },
  })
  const caller = { kind: 'key' as const, name: 'learn', keys: ['ref_default_learn'] }
  const lesson = await clock.run(
    learn({
      ...{ send: memoryTransport(service, clock), clock, caller, zeroBalanceKey: null, budgetPico: null },
      ...{ demanded, addedSecrets },
    }),
  )
  expect(lesson.nothing).toBeNull()
  expect(lesson.known.chat).not.toBeNull()
  const { yaml } = learnedProfile(lesson, 'http://127.0.0.1:1')
  const { auth, requestHeaders, requestQuery, paths } = parseProfile(yaml, 'learned.yaml')
  expect({ auth, requestHeaders, requestQuery, paths }).toMatchObject({
    auth: { header: 'x-gateway-key', scheme: 'Key' },
    requestHeaders: demanded.requestHeaders,
    requestQuery: demanded.requestQuery,
    paths: demanded.paths,
  })
  expect(JSON.stringify([yaml, lesson.replies])).not.toMatch(new RegExp(`${secret}|${code}`))
})
