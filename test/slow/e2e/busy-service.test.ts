import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freshDirectory, turnpike } from '../../support/turnpike.ts'

const scenario = `name: busy
callers: { count: 4 }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
service: { concurrency: 1, service-time: 3s, queue-length: 1 }
stages: [{ name: rush, duration: 1s, shape: burst, size: 4, mix: { rpc: 1 } }]
thresholds:
  - { expect: violations == 0, why: A busy service must follow its document. }
  - { expect: status(503) of rpc == 2, why: One request is served and one waits. }
  - { expect: min service-time of rpc >= 2s, why: It takes three seconds. A busy machine may measure less. }
`

test('the embedded service has the capacity of the scenario', async () => {
  const folder = freshDirectory()
  const file = join(folder, 'busy.yaml')
  writeFileSync(file, scenario)
  const { code, stdout } = await turnpike(['run', file, '--out', join(folder, 'run'), '--format', 'json', '--quiet'])
  const report = JSON.parse(stdout)
  expect(report.calls[0].statuses).toEqual({ 200: 2, 503: 2 })
  expect([code, report.verdict]).toEqual([0, 'pass'])
})
