import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** Prometheus itself, on loopback, with the configuration and the rules of the project. */
export type RealPrometheus = {
  readonly scrape: (port: number) => void
  /** What is wrong with an expression over the span: it gives nothing, or it gives what is no number. */
  readonly complaints: (expr: string, span: Span) => Promise<readonly string[]>
  readonly ask: (path: string, query: Readonly<Record<string, string>>) => Promise<unknown>
  readonly stop: () => void
}

/** In seconds of Unix time. */
export type Span = { readonly from: number; readonly to: number }

export const nowSeconds = (): number => Date.now() / 1000

/** Four scrapes, as Grafana takes it. */
const rateInterval = '8s'

/** As Grafana would send it with all chosen. */
export const interpolate = (expr: string): string =>
  expr.replaceAll('$__rate_interval', rateInterval).replace(/"\$\w+"/g, '".+"')

export async function startPrometheus(): Promise<RealPrometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-prometheus-'))
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  cpSync('dashboards/prometheus', folder, { recursive: true })
  rmSync(join(folder, 'targets/local.yml'))
  const flags = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`]
  const child = spawn('prometheus', flags, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', bytes => {
    said += bytes
  })
  const isReady = () =>
    fetch(`${origin}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  for (let tries = 0; !(await isReady()); tries++) {
    if (tries === 100 || child.exitCode !== null) throw new Error(`Prometheus did not start: ${said}`)
    await pause(100)
  }

  const ask: RealPrometheus['ask'] = async (path, query) => {
    const response = await fetch(`${origin}/api/v1/${path}?${new URLSearchParams(query)}`)
    const { status, data, error } = (await response.json()) as { status: string; data?: unknown; error?: string }
    if (status !== 'success') throw new Error(`${path} ${JSON.stringify(query)}: ${error}`)
    return data
  }

  return {
    ask,
    scrape: target => writeFileSync(join(folder, 'targets/run.yml'), `- targets: ["127.0.0.1:${target}"]\n`),
    complaints: async (expr, { from, to }) => {
      const query = { query: interpolate(expr), start: String(from), end: String(to), step: '1' }
      const { result } = (await ask('query_range', query)) as { result: readonly { values: [number, string][] }[] }
      const values = result.flatMap(({ values }) => values.map(([, value]) => Number(value)))
      if (values.length === 0) return [`no data: ${expr}`]
      return values.every(Number.isFinite) ? [] : [`no number at times: ${expr}`]
    },
    stop: () => {
      child.once('exit', () => rmSync(folder, { recursive: true, force: true }))
      child.kill('SIGKILL')
    },
  }
}

function freePort(): Promise<number> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0))
    })
  })
}
