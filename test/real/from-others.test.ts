import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { blocksOf } from '../support/markdown.ts'
import { describeWith, type RealPart } from '../support/real-part.ts'
import { shell } from '../support/shell.ts'
import { freshDirectory, serveForTest, turnpike } from '../support/turnpike.ts'

/** The script of the other tool, its command, and what counts its requests. */
const tools: Readonly<Record<string, readonly [part: RealPart, language: string, command: (file: string) => string]>> =
  {
    k6: [
      'k6',
      'js',
      file =>
        `${process.env.TURNPIKE_K6} run --quiet --summary-export s.json -e TARGET=$TARGET ${file} >&2 && jq .metrics.http_reqs.count s.json`,
    ],
    locust: [
      'locust',
      'python',
      file =>
        `${process.env.TURNPIKE_LOCUST} -f ${file} --headless --users 5 --spawn-rate 5 --run-time 10s --host $TARGET --json 2>err | jq .[0].num_requests`,
    ],
  }

for (const [name, [part, language, command]] of Object.entries(tools))
  describeWith(part, `docs/from-${name}.md`, () => {
    const page = readFileSync(`docs/from-${name}.md`, 'utf8')

    test('both files send about as many requests to the same service, and both pass', async ({ onTestFinished }) => {
      const { target } = await serveForTest(['service', '--profile', 'json-rpc-node'], onTestFinished)
      const folder = freshDirectory()
      const [theirs = '', ours = ''] = [blocksOf(page, language)[0], blocksOf(page, 'yaml')[0]]
      const script = join(folder, language === 'js' ? 'script.js' : 'locustfile.py')
      writeFileSync(script, theirs)
      writeFileSync(join(folder, 'ours.yaml'), ours)
      const other = await shell(command(script), target)
      expect([other.code, other.code === 0 ? '' : other.stderr]).toEqual([0, ''])
      const out = join(folder, 'run')
      const own = await turnpike(['run', join(folder, 'ours.yaml'), '--target', target, '--out', out, '--quiet'])
      expect([own.code, own.stderr]).toEqual([0, ''])
      const sent = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8')).calls[0].count
      const ratio = Number(other.stdout.trim().split('\n').at(-1)) / sent
      // Users who wait send fewer on a busy machine.
      expect(ratio).toBeGreaterThan(0.5)
      expect(ratio).toBeLessThan(2)
    })
  })
