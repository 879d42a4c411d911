import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clientCore, onCore, runCommand } from './child.ts'

/** The path of guidellm, if it is not on the PATH. It is not a dependency; install it to compare. */
export const guidellmVariable = 'TURNPIKE_BENCH_GUIDELLM'

type GuidellmRun = {
  readonly program: string
  readonly port: string
  readonly seconds: number
  /** The streams begin evenly during this time. Default: all at once. */
  readonly rampSeconds?: number
  /** Of each answer, at most. */
  readonly tokens: number
  /** How many at a time. */
  readonly streams: number
  /** What it sends: a prompt, or the prompts of the turns of a session, in each. */
  readonly rows: readonly Readonly<Record<string, string>>[]
  readonly settings?: NodeJS.ProcessEnv
}

/**
 * Runs guidellm on the core of a client: the chunks that it counted, and how long it took. Rejects if one of its requests
 * failed. The prompts come from a file, so it needs no tokenizer.
 */
export async function runGuidellm(run: GuidellmRun): Promise<{ readonly chunks: number; readonly seconds: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-guidellm-'))
  const data = join(folder, 'prompts.jsonl')
  const report = join(folder, 'report.json')
  writeFileSync(data, run.rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  const options = {
    backend: `kind=openai_http,target=http://127.0.0.1:${run.port},model=bench,max_tokens=${run.tokens}`,
    profile: `kind=concurrent,streams=${run.streams},rampup_duration=${run.rampSeconds ?? 0}`,
    constraint: `kind=max_duration,seconds=${run.seconds}`,
    tokenizer: 'kind=hf_auto,model=none',
    data: `kind=json_file,path=${data}`,
    output: `kind=json,path=${report}`,
  }
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  try {
    const command = [run.program, 'run', '--disable-console', ...flags]
    await runCommand(onCore(clientCore, command), { env: { ...run.settings, HF_HUB_OFFLINE: '1' } })
    const { metrics, duration } = JSON.parse(readFileSync(report, 'utf8')).benchmarks[0]
    const { errored } = metrics.request_totals
    if (errored > 0) throw new Error(`${errored} requests of guidellm failed`)
    return { chunks: metrics.output_token_count.total.total_sum, seconds: duration }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
