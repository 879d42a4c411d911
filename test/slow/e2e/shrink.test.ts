import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freePort } from '../../support/free-port.ts'
import { libraryScript } from '../../support/library-script.ts'
import { freshDirectory, serveForTest, turnpike } from '../../support/turnpike.ts'

test.concurrent('a finding becomes a scenario and a script that fail for it alone', async ({ onTestFinished }) => {
  const { target } = await serveForTest(['service', '--lie', 'failed-item-in-full'], onTestFinished)
  const folder = freshDirectory()
  const [run, out] = [join(folder, 'run'), join(folder, 'smallest')]
  const flags = ['--target', target, '--quiet', '--no-warm-up']
  expect((await turnpike(['run', 'test/e2e/short.yaml', ...flags, '--out', run])).code).toBe(1)

  const shrunk = await turnpike(['shrink', run, '1', '--out', out, '--budget-usd', '0.05'])
  expect([shrunk.code, shrunk.stdout]).toEqual([0, ''])
  expect(shrunk.stderr).toMatch(/^rpc\.batch\.error-price: from \d+ to 1 arrival, in \d+ runs for \$0\.0\d+\./m)
  expect(readdirSync(out).toSorted()).toEqual(['repeat.sh', 'run', 'scenario.yaml'])
  expect(readFileSync(join(out, 'repeat.sh'), 'utf8')).toContain('rpc.batch.error-price')

  const scenario = join(out, 'scenario.yaml')
  const again = await turnpike(['run', scenario, ...flags, '--format', 'json'])
  expect(again.code).toBe(1)
  const { findings } = JSON.parse(again.stdout) as { readonly findings: readonly { readonly clause: string }[] }
  expect(findings.map(({ clause }) => clause)).toEqual(['rpc.batch.error-price'])
  expect((await turnpike(['run', scenario, '--quiet', '--no-warm-up'])).code).toBe(0)

  // Mistakes are told before anything is sent, and leave no folder.
  const say = async (...args: string[]) => {
    const { code, stdout, stderr } = await turnpike(['shrink', run, ...args])
    expect([code, stdout]).toEqual([2, ''])
    return stderr
  }
  expect(await say('7')).toMatch(/number: got "7", expected a finding/)
  expect(await say('1', '--max-time', 'soon')).toMatch(/--max-time: got soon, expected a duration/)
  expect(await say('1', '--out', out)).toMatch(/--out: got .*, expected a new folder/)
  expect(await say('1', '--budget-usd', '0.0000001')).toMatch(/budget: got \$0\.0000001, expected at least/)
  const nobody = `http://127.0.0.1:${await freePort()}/v1`
  expect(await say('1', '--target', nobody)).toBe(
    `--target: got no response from ${nobody}, expected a service that responds and still has the fault\n`,
  )

  // A run directory may come from somebody else, so it does not decide who gets the keys.
  const plan = join(run, 'plan.json')
  const written = readFileSync(plan, 'utf8')
  writeFileSync(plan, written.replace(`"target": "${target}"`, '"target": "https://api.example.com/v1"'))
  expect(await say('1')).toMatch(/--target: got nothing, expected .* that of the run, https:\/\/api\.example\.com\/v1/)
  writeFileSync(plan, written)

  const stopped = await turnpike(['shrink', run, '1', '--max-time', '1ms'])
  expect(stopped.code).toBe(3)
})

test.concurrent('a program can shrink a finding', async () => {
  const { value } = await libraryScript(`
    const service = await turnpike.startService({ lies: ['failed-item-in-full'] })
    const directory = folder + '/run'
    await turnpike.run('test/e2e/short.yaml', { target: service.url, directory, warmUp: false })
    const seen = []
    const onProgress = progress => seen.push(progress)
    const shrunk = await turnpike.shrink(directory, { finding: 1, budgetUsd: 0.05, directory: folder + '/last', onProgress })
    const again = await turnpike.run(shrunk.scenario, { target: service.url, warmUp: false })
    const mistake = await turnpike.shrink(directory, { find: 1 }).catch(cause => [cause.name, cause.message])
    await service.close()
    done({ shrunk, seen, again, mistake })`)
  const { shrunk, seen, again, mistake } = value as Readonly<Record<string, never>>
  expect(shrunk).toMatchObject({ ended: 'minimal', arrivals: 1, violated: 3, tried: 3 })
  expect(seen).toEqual(expect.arrayContaining([expect.objectContaining({ arrivals: 1, runs: expect.any(Number) })]))
  expect(again).toMatchObject({ verdict: 'fail', findings: [{ clause: 'rpc.batch.error-price' }] })
  expect(mistake).toEqual(['UsageError', expect.stringMatching(/^options\.find: got "find"/)])
})
