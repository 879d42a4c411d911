import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { startProgram } from './real-program.ts'

/**
 * A real Prometheus on loopback, with the configuration and the rules of the project. It also accepts remote writes.
 */
export type RealPrometheus = {
  readonly remoteWrite: string
  /** The base address of its OTLP receiver, which only some versions have. */
  readonly otlp: string
  /** Sets its scrape targets to these ports. */
  readonly scrape: (ports: readonly number[]) => void
  /** The problems of an expression over the span: no data, or a value that is not a number. */
  readonly found: (expr: string, span: Span) => Promise<readonly string[]>
  readonly ask: (path: string, query: Readonly<Record<string, string>>) => Promise<unknown>
  /** The values at an instant, by default now, with their labels. */
  readonly numbersOf: (expr: string, atSeconds?: number) => Promise<readonly Numbered[]>
  readonly start: () => Promise<void>
  /** Kills the process, as if its machine failed. It can start again with its data. */
  readonly kill: () => Promise<void>
  /** Stops it and deletes its data. */
  readonly stop: () => Promise<void>
}

export type Numbered = { readonly labels: Readonly<Record<string, string>>; readonly value: number }

/** In seconds of Unix time. */
export type Span = { readonly from: number; readonly to: number }

export const nowSeconds = (): number => Date.now() / 1000

/** Four scrape intervals, as in Grafana. */
const rateInterval = '8s'

/** As Grafana sends it with "All" selected. */
export const interpolate = (expr: string): string =>
  expr.replaceAll('$__rate_interval', rateInterval).replace(/"\$\w+"/g, '".+"')

/** Another program than that of Debian, and what it needs beside the usual flags. */
export type OtherPrometheus = { readonly program: string; readonly flags: readonly string[] }

const debian: OtherPrometheus = { program: 'prometheus', flags: [] }

/** Prepares a folder and a port without starting the program. */
export async function preparePrometheus({ program, flags: more }: OtherPrometheus = debian): Promise<RealPrometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-prometheus-'))
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  cpSync('dashboards/prometheus', folder, { recursive: true })
  rmSync(join(folder, 'targets/local.yml'))
  const flags = [
    ...['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`],
    ...['--web.enable-remote-write-receiver', '--enable-feature=native-histograms', ...more],
  ]
  let kill = async (): Promise<void> => {}

  const ask: RealPrometheus['ask'] = async (path, query) => {
    const response = await fetch(`${origin}/api/v1/${path}?${new URLSearchParams(query)}`)
    const { status, data, error } = (await response.json()) as { status: string; data?: unknown; error?: string }
    if (status !== 'success') throw new Error(`${path} ${JSON.stringify(query)}: ${error}`)
    return data
  }

  return {
    ask,
    remoteWrite: `${origin}/api/v1/write`,
    otlp: `${origin}/api/v1/otlp`,
    scrape: ports => {
      const targets = JSON.stringify(ports.map(port => `127.0.0.1:${port}`))
      writeFileSync(join(folder, 'targets/run.yml'), `- targets: ${targets}\n`)
    },
    found: async (expr, { from, to }) => {
      const query = { query: interpolate(expr), start: String(from), end: String(to), step: '1' }
      const { result } = (await ask('query_range', query)) as { result: readonly { values: [number, string][] }[] }
      const values = result.flatMap(({ values }) => values.map(([, value]) => Number(value)))
      if (values.length === 0) return [`no data: ${expr}`]
      return values.every(Number.isFinite) ? [] : [`not a number at times: ${expr}`]
    },
    numbersOf: async (expr, atSeconds = nowSeconds()) => {
      const data = await ask('query', { query: expr, time: String(atSeconds) })
      const { result } = data as { result: readonly { metric: Numbered['labels']; value?: [number, string] }[] }
      return result.map(({ metric, value }) => ({ labels: metric, value: Number(value?.[1]) }))
    },
    start: async () => {
      kill = (await startProgram(program, flags, { origin, folder })).kill
    },
    kill: () => kill(),
    stop: async () => {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export async function startPrometheus(other: OtherPrometheus = debian): Promise<RealPrometheus> {
  const prometheus = await preparePrometheus(other)
  await prometheus.start()
  return prometheus
}
