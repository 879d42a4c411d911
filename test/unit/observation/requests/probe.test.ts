import { expect, test } from 'vitest'
import { probeNames, probeOf } from '../../../../src/contract/probes.ts'
import { requestTraits } from '../../../../src/observation/requests/request.ts'

test('a probe that is priced at nothing states no credits that it may cost', () => {
  const free = probeNames.filter(name => {
    const request = { kind: 'probe', probe: name } as const
    return requestTraits(request).pricing(request) === 'nothing'
  })
  expect(free.filter(name => probeOf(name).credits !== undefined)).toEqual([])
  expect(free.length).toBeGreaterThan(0)
})
