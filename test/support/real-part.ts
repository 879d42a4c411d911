import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { describe, test } from 'vitest'

/** External programs that the project does not install, by their name in `TURNPIKE_REQUIRE`. */
const programs = {
  prometheus: ['prometheus', 'promtool'],
  pushgateway: ['prometheus-pushgateway'],
  compose: ['docker-compose'],
  // Of the npm registry: `npm ci --prefix site`.
  site: ['site/node_modules/.bin/vite', 'chromium'],
  chromium: ['chromium'],
  redis: ['redis-server'],
  // Of the Go module proxy, built from the folders of test/real/otlp.
  otlp: [
    process.env.TURNPIKE_OTLP_COLLECTOR ?? 'TURNPIKE_OTLP_COLLECTOR',
    process.env.TURNPIKE_OTLP_PROMETHEUS ?? 'TURNPIKE_OTLP_PROMETHEUS',
  ],
  // Of the npm registry, with a configuration beside its node_modules.
  hardhat: [process.env.TURNPIKE_HARDHAT ?? 'TURNPIKE_HARDHAT'],
  ganache: [process.env.TURNPIKE_GANACHE ?? 'TURNPIKE_GANACHE'],
  // Of the npm registry: the folder of the package.
  'x402-express': [process.env.TURNPIKE_X402_EXPRESS ?? 'TURNPIKE_X402_EXPRESS'],
  // Of the Go module proxy, and of PyPI.
  k6: [process.env.TURNPIKE_K6 ?? 'TURNPIKE_K6'],
  locust: [process.env.TURNPIKE_LOCUST ?? 'TURNPIKE_LOCUST'],
  // Of the Go module proxy.
  geth: [process.env.TURNPIKE_GETH ?? 'TURNPIKE_GETH'],
  // A Python that has the proxy of LiteLLM, of PyPI.
  litellm: [process.env.TURNPIKE_LITELLM_PYTHON ?? 'TURNPIKE_LITELLM_PYTHON'],
  // Of PyPI and the npm registry: parsers of JUnit files, the schema of SARIF, and axe-core.
  'ci-tools': [process.env.TURNPIKE_CI_TOOLS_PYTHON ?? 'TURNPIKE_CI_TOOLS_PYTHON'],
  // Of Debian, and of the Go module proxy.
  'workflow-linters': ['shellcheck', process.env.TURNPIKE_ACTIONLINT ?? 'actionlint'],
  // A Python that has guidellm, of PyPI.
  'llm-server': [process.env.TURNPIKE_GUIDELLM_PYTHON ?? 'TURNPIKE_GUIDELLM_PYTHON'],
} as const
export type RealPart = keyof typeof programs

/**
 * A suite that needs external programs. Without them it is skipped with a notice. It fails instead if the
 * comma-separated list in `TURNPIKE_REQUIRE` names the part.
 */
export function describeWith(part: RealPart, title: string, suite: () => void): void {
  const missing = programs[part].filter(
    program => !existsSync(`${program}/package.json`) && spawnSync(program, ['--version']).error !== undefined,
  )
  if (missing.length === 0) {
    describe(title, suite)
    return
  }
  const reason = `${missing.join(' and ')} not installed`
  const isRequired = (process.env.TURNPIKE_REQUIRE ?? '').split(',').includes(part)
  if (isRequired) {
    test(title, () => {
      throw new Error(`TURNPIKE_REQUIRE names ${part}: ${reason}`)
    })
    return
  }
  process.stderr.write(`Skipped, ${reason}: ${title}\n`)
  describe.skip(`${title} (${reason})`, suite)
}
