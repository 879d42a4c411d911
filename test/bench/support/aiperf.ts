import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clientCore, onCore, runCommand } from './child.ts'

/** The path of aiperf, if it is not on the PATH. It is not a dependency; install it to compare. */
export const aiperfVariable = 'TURNPIKE_BENCH_AIPERF'

type AiperfRun = {
  readonly program: string
  readonly port: string
  readonly seconds: number
  /** The sessions begin evenly during this time. */
  readonly rampSeconds: number
  /** Of each answer, at most. */
  readonly tokens: number
  /** How many sessions at a time. */
  readonly concurrency: number
  /** The texts of the users, session by session. */
  readonly sessions: readonly (readonly string[])[]
}

/** A complete answer of a turn: when its chunks were read, in milliseconds of one clock. */
export type ReadAnswer = { readonly sentMs: number; readonly chunksMs: readonly number[] }

/** Its own needs a file from the network, although the server counts the tokens. Every word is unknown to this one. */
const tokenizer = {
  'tokenizer.json': {
    ...{ version: '1.0', added_tokens: [], pre_tokenizer: { type: 'Whitespace' } },
    model: { type: 'WordLevel', vocab: { '[UNK]': 0 }, unk_token: '[UNK]' },
  },
  'tokenizer_config.json': { tokenizer_class: 'PreTrainedTokenizerFast', unk_token: '[UNK]' },
}

type ExportedRecord = {
  readonly metadata: { readonly request_start_ns: number; readonly was_cancelled: boolean }
  readonly metrics: {
    readonly time_to_first_token?: { readonly value: number }
    readonly inter_chunk_latency?: { readonly value: readonly number[] }
  }
  readonly error?: { readonly type: string; readonly message: string } | null
}

/** Runs aiperf on the core of a client, and returns the answers that it read to their end. Rejects if a request failed. */
export async function runAiperf(run: AiperfRun): Promise<readonly ReadAnswer[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-aiperf-'))
  const data = join(folder, 'sessions.jsonl')
  const [model, artifacts] = [join(folder, 'tokenizer'), join(folder, 'artifacts')]
  mkdirSync(model)
  for (const [name, content] of Object.entries(tokenizer)) writeFileSync(join(model, name), JSON.stringify(content))
  const rows = run.sessions.map((texts, session) => ({
    session_id: `s${session}`,
    turns: texts.map(text => ({ text })),
  }))
  writeFileSync(data, rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  const options = {
    ...{ url: `http://127.0.0.1:${run.port}`, model: 'bench', tokenizer: model, 'endpoint-type': 'chat' },
    ...{
      'input-file': data,
      'custom-dataset-type': 'multi_turn',
      'extra-inputs': `max_completion_tokens:${run.tokens}`,
    },
    ...{ concurrency: run.concurrency, 'concurrency-ramp-duration': run.rampSeconds },
    ...{ 'benchmark-duration': run.seconds, 'benchmark-grace-period': 0 },
    ...{ 'output-artifact-dir': artifacts, ui: 'none' },
  }
  const switches = ['streaming', 'use-server-token-count', 'no-server-metrics', 'no-gpu-telemetry']
  const flags = [
    ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
    ...switches.map(name => `--${name}`),
  ]
  try {
    await runCommand(onCore(clientCore, [run.program, 'profile', ...flags]))
    return readFileSync(join(artifacts, 'profile_export.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .flatMap(line => answerIn(JSON.parse(line)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function answerIn({ metadata, metrics, error }: ExportedRecord): readonly ReadAnswer[] {
  if (metadata.was_cancelled) return []
  const first = metrics.time_to_first_token?.value
  if (error || first === undefined) throw new Error(`a request of aiperf failed: ${error?.type} ${error?.message}`)
  const sentMs = metadata.request_start_ns / 1e6
  const chunksMs = [sentMs + first]
  for (const gapMs of metrics.inter_chunk_latency?.value ?? []) chunksMs.push((chunksMs.at(-1) ?? 0) + gapMs)
  return [{ sentMs, chunksMs }]
}
