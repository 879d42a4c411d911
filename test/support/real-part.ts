import { spawnSync } from 'node:child_process'
import { describe, test } from 'vitest'

/** Programs that the project does not install by itself, by the name that `TURNPIKE_REQUIRE` has for them. */
const programs = {
  prometheus: ['prometheus', 'promtool'],
  pushgateway: ['prometheus-pushgateway'],
  compose: ['docker-compose'],
  chromium: ['chromium'],
} as const
export type RealPart = keyof typeof programs

/**
 * A suite that needs programs of others. Where one is missing it says so and is skipped; where `TURNPIKE_REQUIRE`, a
 * list separated by commas, names the part, it fails instead.
 */
export function describeWith(part: RealPart, title: string, suite: () => void): void {
  const missing = programs[part].filter(program => spawnSync(program, ['--version']).error !== undefined)
  if (missing.length === 0) {
    describe(title, suite)
    return
  }
  const reason = `${missing.join(' and ')} not installed`
  const isRequired = (process.env.TURNPIKE_REQUIRE ?? '').split(',').includes(part)
  if (isRequired) {
    test(title, () => {
      throw new Error(`TURNPIKE_REQUIRE asks for ${part}: ${reason}`)
    })
    return
  }
  process.stderr.write(`Skipped, ${reason}: ${title}\n`)
  describe.skip(`${title} (${reason})`, suite)
}
