import { describe, expect, test } from 'vitest'
import { judgeStory } from '../../support/ledger-story.ts'
import { answerOf, observed, rpcHeaders } from '../checks/observed.ts'
import { because } from './judge-ledger.ts'

describe('what the RPC proxy refuses', () => {
  test('is free, and that is seen where nothing else was charged', () => {
    const free = { steps: 'statement; refusal; refusal; statement', balances: ['10', '10', '10', '10'] }
    expect(judgeStory(free).accused).toEqual([])
    const billed = { steps: 'statement; refusal; statement', balances: ['10', '10', '9.9999875'] }
    expect(judgeStory(billed).accused).toEqual(['rpc.refused.free'])
  })

  test('is not to blame where a call was charged besides', () => {
    const mixed = { steps: 'statement; call 0.0000125 & refusal; statement', balances: ['10', '10', '10', '9.999975'] }
    expect(judgeStory(mixed).accused).toEqual(['billing.conservation'])
  })

  test('must not say that it costs something', () => {
    const asked = { kind: 'probe', probe: 'batch-too-long' } as const
    const refusal = (credits: string, cost: string) =>
      because([
        observed(
          asked,
          answerOf(
            400,
            { error: 'No' },
            { ...rpcHeaders, 'x-service-rpc-credits': credits, 'x-service-rpc-cost-usd': cost },
          ),
          { seq: 0 },
        ),
      ])
    expect(refusal('0', '0')).toEqual([])
    expect(refusal('20', '0.0000125')).toEqual([
      'rpc.refused.free: a 400 says that it costs 0.0000125 USD, expected a refusal to cost nothing',
    ])
  })
})
