import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startQueue, steadyScenario } from '../support/queued-run.ts'
import { describeWith } from '../support/real-part.ts'
import { selfSigned } from '../support/self-signed.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'

const password = 'correct-horse-battery'

describeWith('redis', 'a Redis with a password and TLS', () => {
  test.concurrent('carries a run of clients that know both', async ({ onTestFinished }) => {
    const { serve, startWorker, startRun } = await startQueue(onTestFinished, { password, tls: true })
    const service = await serve()
    const environment = { NODE_EXTRA_CA_CERTS: authorityFile() }
    const workers = await Promise.all([startWorker('a', { environment }), startWorker('b', { environment })])
    const scenario = steadyScenario({ callers: 4, rate: 20, seconds: 2 })
    const run = await startRun({ shards: 2, scenario, target: service.target, environment })
    const { code, stderr } = await run.conclude()
    expect(code, stderr).toBe(0)
    expect(service.load(run.id)).toHaveLength(40)
    for (const { child } of workers) child.kill('SIGINT')
    const texts = [stderr, ...(await Promise.all(workers.map(async ({ ended }) => (await ended).stderr)))]
    expect(texts.join('\n')).not.toContain(password)
  })

  test.concurrent.for([
    ['a wrong password', 'rediss://:not-the-password@127.0.0.1', /WRONGPASS/, true],
    ['no password', 'rediss://127.0.0.1', /NOAUTH/, true],
    ['an authority that is not trusted', `rediss://:${password}@127.0.0.1`, /self-signed certificate/, false],
    ['no TLS', `redis://:${password}@127.0.0.1`, /127\.0\.0\.1:\d+: \S/, true],
  ] as const)('refuses %s in one clear error', async ([, url, why, isTrusted], { onTestFinished }) => {
    const { redis, serve } = await startQueue(onTestFinished, { password, tls: true })
    const service = await serve()
    const environment: Readonly<Record<string, string>> = isTrusted ? { NODE_EXTRA_CA_CERTS: authorityFile() } : {}
    const scenario = steadyScenario({ callers: 4, rate: 20, seconds: 2 })
    const target = ['--target', service.target, '--out', freshDirectory()]
    for (const args of [['worker'], ['run', scenario, ...target, '--no-progress', '--shards', '2']]) {
      const { code, stderr } = await turnpike([...args, '--redis', `${url}:${redis.port}`], environment)
      expect(code, stderr).toBe(2)
      expect(stderr).toMatch(why)
      expect(stderr).not.toMatch(/correct-horse|not-the-password|\n {4}at /)
    }
    expect(service.seen()).toEqual([])
  })
})

/** The certificate is its own authority. */
function authorityFile(): string {
  const file = join(freshDirectory(), 'authority.pem')
  writeFileSync(file, selfSigned.cert)
  return file
}
