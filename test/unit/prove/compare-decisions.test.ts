import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { compareDecisions } from '../../../src/prove/recorded-requests.ts'
import { type Account, accountHolderOf } from '../../../src/service/account.ts'
import { type Behavior, defaultBehavior } from '../../../src/service/behavior.ts'
import { lie, withOverrides } from '../../../src/service/lies/lie.ts'

const lies = [
  lie('same-words', 'It says the same in another object.', honest => ({
    usage: usage => ({ ...Object(honest.usage(usage)) }),
  })),
  lie('third-time', 'It differs at the third request.', honest => {
    let asked = 0
    return { keyFate: key => (++asked === 3 ? 'ignored' : honest.keyFate(key)) }
  }),
  lie('also-charges', 'A decision that charges, too.', honest => ({
    isFailure: status => {
      if (status === 500) honest.charge({} as Account, { currency: 'usd', pico: 1n })
      return honest.isFailure(status)
    },
  })),
  lie('breaks', 'It cannot decide.', () => ({
    keyOf: () => {
      throw new Error('no key')
    },
  })),
  lie('other-size', 'It takes larger batches.', () => ({ batchLimit: 101 })),
  lie('never-asked', 'It is never asked.', () => ({ accountHolder: accountHolderOf })),
]

/** What a service has decided, by the lies that decide the same. */
function sameAfter(decide: (service: Behavior) => unknown) {
  const compared = compareDecisions(lies)
  const honest = defaultBehavior(documentedContract)
  const said = decide(withOverrides(honest, documentedContract, [compared.honest]))
  expect(said).toEqual(decide(honest))
  return lies.map(({ name }) => name).filter(compared.decidesTheSame)
}

test('a lie decides the same until it differs once, charges, fails, or has another size', () => {
  expect(sameAfter(() => null)).not.toContain('other-size')
  expect(sameAfter(({ keyFate }) => [keyFate('a'), keyFate('b')])).toContain('third-time')
  expect(sameAfter(({ keyFate }) => [keyFate('a'), keyFate('b'), keyFate('c')])).not.toContain('third-time')
  expect(sameAfter(({ isFailure }) => isFailure(400))).toContain('also-charges')
  expect(sameAfter(({ isFailure }) => isFailure(500))).not.toContain('also-charges')
  expect(sameAfter(({ keyOf }) => keyOf('Bearer x'))).not.toContain('breaks')
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } as Parameters<Behavior['usage']>[0]
  expect(sameAfter(behavior => behavior.usage(usage))).toEqual([
    ...['same-words', 'third-time', 'also-charges', 'breaks', 'never-asked'],
  ])
})

test('nothing is known of a lie that was not asked', () => {
  expect(compareDecisions(lies).decidesTheSame('another-lie')).toBe(false)
})
