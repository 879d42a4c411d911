import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { describeWith } from '../support/real-part.ts'

const folder = 'dashboards/prometheus'
const promtool = (...args: readonly string[]) => execFileSync('promtool', args, { cwd: folder, encoding: 'utf8' })

type Rules = { readonly groups: readonly { readonly rules: readonly Rule[] }[] }
type Rule = { readonly record?: string; readonly alert?: string }
const rulesOf = (file: string): readonly Rule[] => {
  const { groups }: Rules = parse(readFileSync(`${folder}/${file}`, 'utf8'))
  return groups.flatMap(({ rules }) => rules)
}

describeWith('prometheus', 'Prometheus rules', () => {
  test('are in a valid Prometheus configuration', () => {
    expect(promtool('check', 'config', 'prometheus.yml')).toContain('SUCCESS')
  })
  test('pass their unit tests', () => {
    expect(promtool('test', 'rules', 'rules.test.yml')).toContain('SUCCESS')
  })
})

test('every rule has a test', () => {
  const tested = readFileSync(`${folder}/rules.test.yml`, 'utf8')
  const names = [...rulesOf('recording.rules.yml'), ...rulesOf('alerts.rules.yml')].map(
    rule => rule.record ?? rule.alert,
  )
  expect(names.length).toBeGreaterThan(10)
  expect(names.filter(name => !tested.includes(`: ${name}`) && !tested.includes(`"${name}"`))).toEqual([])
})
