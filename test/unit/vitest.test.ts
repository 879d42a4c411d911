import { describe, expect, test } from 'vitest'
import '../../src/vitest.ts'
import type { Report } from '../../src/report/document.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { virtualRun } from '../support/virtual-run.ts'

const scenario = 'test/e2e/short.yaml'
const lie = lieByName('failed-item-in-full')
const { report: honest } = await virtualRun({ scenario })
const { report: liar } = await virtualRun({ scenario, lies: lie === undefined ? [] : [lie] })
const silent: Report = { ...honest, verdict: 'inconclusive', reasons: ['Nothing listens at 127.0.0.1:9.'] }

const messageOf = (check: () => void): string => {
  try {
    check()
  } catch (cause) {
    return (cause as Error).message
  }
  return ''
}

describe('toPass', () => {
  test('accepts a run that passed', () => {
    expect(honest.verdict).toBe('pass')
    expect(honest).toPass()
    expect(messageOf(() => expect(honest).not.toPass())).toMatch(/^expected the run not to pass, but it .*\n\nPASS/)
  })

  test('shows the findings of a run that failed, with their evidence', () => {
    expect(liar).not.toPass()
    const message = messageOf(() => expect(liar).toPass())
    expect(message).toMatch(/^expected the run to pass, but it has the verdict fail\n\nFAIL {2}short\n/)
    expect(message).toContain('rpc.batch.error-price')
    expect(message).toMatch(/observed +\d+ credits for a batch with 1 failed item/)
    expect(message).toMatch(/^ +> POST \/crypto\/rpc\/ethereum-mainnet$/m)
    expect(message).toMatch(/^ +\$ curl /m)
    expect(message).toMatch(/fail {2}violations == 0/)
    // What only a terminal can use.
    expect(message).not.toContain('turnpike findings')
  })

  test('takes an inconclusive run for neither', () => {
    for (const check of [() => expect(silent).toPass(), () => expect(silent).not.toPass()])
      expect(messageOf(check)).toMatch(/inconclusive, which proves neither\n\nINCONCLUSIVE.*\n +- Nothing listens/)
  })

  test('takes the promise of a report', async () => {
    await expect(Promise.resolve(honest)).toPass()
    await expect(Promise.resolve(liar)).not.toPass()
    await expect(expect(Promise.resolve(liar)).toPass()).rejects.toThrow('rpc.batch.error-price')
    await expect(expect(Promise.reject(new Error('no run'))).toPass()).rejects.toThrow('no run')
    await expect(Promise.resolve(honest)).resolves.toPass()
  })

  test.each([[null], ['pass'], [{ verdict: 'pass' }], [undefined]])('refuses what is no report: %j', value => {
    expect(messageOf(() => expect(value).toPass())).toMatch(/^toPass: got .*, expected the report/)
    expect(messageOf(() => expect(value).not.toPass())).toMatch(/^toPass: got .*, expected the report/)
  })
})
