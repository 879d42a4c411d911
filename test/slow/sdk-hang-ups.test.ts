import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../src/contract/documented.ts'
import { serviceForClients } from '../support/service-for-clients.ts'

const question = { model: 'ref-nano-3b', messages: [{ role: 'user' as const, content: 'Count to ten.' }] }

/** The dollars that an account had before this request. */
async function balanceOf(client: OpenAI): Promise<number> {
  const { response } = await client.models.list().withResponse()
  return Number(response.headers.get('x-service-balance-usd'))
}

describe('a client of the SDK of OpenAI that leaves a stream after five pieces', () => {
  const { usdPerMillion } = documentedContract.models.find(({ id }) => id === question.model) ?? {}
  const [input, output] = [Number(usdPerMillion?.input), Number(usdPerMillion?.output)]

  test.each([
    ['delivered', 5, 100],
    ['generated', 5, 100],
    ['full', 101, 400],
    ['nothing', 0, 0],
  ] as const)('pays what the policy says: %s', async (hangUp, least, most) => {
    const billing = { ...documentedContract.billing, hangUp }
    const { base, server: own } = await serviceForClients({ ...documentedContract, billing }, { timing: { itlMs: 10 } })
    const client = new OpenAI({ baseURL: base, apiKey: 'ref_default_leaver', maxRetries: 0 })
    try {
      const { usage } = await client.chat.completions.create({ ...question, max_completion_tokens: 1 })
      const beforeUsd = await balanceOf(client)
      const stream = await client.chat.completions.create({ ...question, max_completion_tokens: 400, stream: true })
      let pieces = 0
      for await (const { choices } of stream) {
        if (choices[0]?.delta.content) pieces++
        if (pieces === 5) break
      }
      // A full price is charged when the rest would have come.
      await sleep(hangUp === 'full' ? 4_500 : 500)
      const paidUsd = beforeUsd - (await balanceOf(client))
      const promptUsd = ((usage?.prompt_tokens ?? Number.NaN) * input) / 1e6
      const tokens = hangUp === 'nothing' ? paidUsd : ((paidUsd - promptUsd) * 1e6) / output
      expect(Math.round(tokens)).toBeGreaterThanOrEqual(least)
      expect(Math.round(tokens)).toBeLessThanOrEqual(most)
      // A balance has seven decimals, which is a sixth of a token.
      expect(Math.abs(tokens - Math.round(tokens))).toBeLessThan(0.4)
    } finally {
      await own.close()
    }
  })
})
