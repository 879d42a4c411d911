import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import {
  apart,
  atMostFiles,
  atMostFilesPerFolder,
  atMostLines,
  chain,
  type Door,
  type Edge,
  effectsAtEdges,
  fewFragments,
  type Hop,
  importedOnlyBy,
  namedForTheirIdea,
  noCycle,
  noDeadFile,
  noIdleDependency,
  noPrivateWords,
  notInCode,
  notInText,
  oneDoor,
  oneMeaning,
  optionalOnUse,
  type Room,
  type Rule,
  seesOnly,
  usesAllItSees,
} from './support/architecture-rules.ts'
import { privateWords } from './support/private-words.ts'
import { withRooms } from './support/render-rooms.ts'
import type { SourceFile } from './support/source-code.ts'

/** The rooms of `src`, and all that each may import of the rooms above it: the diagram of the program. */
const rooms: readonly Room[] = [
  { name: 'lib', sees: [], because: 'It holds no word of the domain.' },
  { name: 'contract', sees: ['lib'], because: 'The document is data and does not know who reads it.' },
  {
    name: 'scenario',
    sees: ['lib', 'contract'],
    because: 'A person writes it; below it no number is still a text with a unit.',
  },
  {
    name: 'plan',
    sees: ['lib', 'contract', 'scenario'],
    because: 'It decides everything: below it there is no default and no optional setting.',
  },
  {
    name: 'observation',
    sees: ['lib', 'contract'],
    because: 'The record between the halves depends on nothing that makes or judges it.',
  },
  {
    name: 'produce/arrivals',
    sees: ['lib', 'plan/plan.ts', 'plan/rate-curve.ts', 'plan/recorded-load.ts', 'plan/shard.ts'],
    because: 'Plan and seed alone decide what is due, when, and for which caller.',
  },
  {
    name: 'produce/transport',
    sees: ['lib', 'plan/plan.ts', 'observation'],
    because:
      'It sends one HTTP request: no redirect, no knowledge of calls, and a retry only where it has no effect of its own.',
  },
  {
    name: 'produce/callers',
    sees: ['lib', 'contract', 'plan/plan.ts'],
    because: 'It is the only room that holds API keys and private keys.',
  },
  {
    name: 'produce/calls',
    sees: [
      ...['lib', 'contract', 'plan/plan.ts', 'plan/shard.ts', 'observation', 'produce/arrivals'],
      ...['produce/transport', 'produce/callers'],
    ],
    because: 'It turns an arrival into requests, and responses into observations.',
  },
  {
    name: 'produce/budget',
    sees: ['lib'],
    because: 'It counts money in shared memory, and knows neither plans nor requests.',
  },
  {
    name: 'produce/drivers',
    sees: ['lib', 'plan/plan.ts', 'observation', 'produce/arrivals'],
    because: 'A scheduler without network can be tested in virtual time.',
  },
  {
    name: 'produce',
    sees: [
      ...['lib', 'contract', 'plan/plan.ts', 'plan/cost.ts', 'plan/shard.ts', 'plan/sign-ahead.ts', 'observation'],
      ...['produce/arrivals', 'produce/transport', 'produce/callers', 'produce/calls', 'produce/budget'],
      'produce/drivers',
    ],
    because: 'It is the front of the producing half: stages in order, one driver per load model.',
  },
  {
    name: 'judge/findings',
    sees: ['contract'],
    because:
      'What all judges report goes into one log: violations, their causes and sizes, and what could not be judged.',
  },
  {
    name: 'judge/results.ts',
    sees: ['lib', 'plan/plan.ts'],
    because: 'A result has one shape, from the judge that finds it to the report that states it.',
  },
  {
    name: 'judge/checks',
    sees: ['judge/findings', 'lib', 'contract', 'observation'],
    because: 'A judge of one response needs only the contract and the record.',
  },
  {
    name: 'judge/merge.ts',
    sees: [],
    because: 'What the workers of a run found adds up by rules that every judge shares.',
  },
  {
    name: 'judge/audits',
    sees: [
      ...['lib', 'contract', 'observation', 'judge/findings', 'judge/results.ts', 'judge/merge.ts', 'judge/checks'],
    ],
    because: 'A judge of many responses needs the same, in the order of sending.',
  },
  {
    name: 'judge/metrics',
    sees: [
      ...[
        'lib',
        'contract',
        'plan/plan.ts',
        'plan/sample-size.ts',
        'observation',
        'judge/results.ts',
        'judge/merge.ts',
      ],
      ...['judge/checks', 'judge/audits'],
    ],
    because: 'It adds up counts and times; it holds no prose and no Prometheus.',
  },
  {
    name: 'judge/capacity',
    sees: [
      'lib',
      'contract',
      'plan/plan.ts',
      'plan/sample-size.ts',
      'observation',
      'judge/results.ts',
      'judge/merge.ts',
      'judge/metrics',
    ],
    because: 'The rules of a search are pure, so an audit replays them.',
  },
  {
    name: 'judge/thresholds.ts',
    sees: ['lib', 'plan/plan.ts', 'judge/results.ts', 'judge/metrics', 'judge/capacity'],
    because: 'It evaluates what the plan states against what the metrics measured.',
  },
  {
    name: 'judge/compare',
    sees: ['lib', 'contract', 'plan/plan.ts', 'judge/results.ts', 'judge/metrics'],
    because: 'Whether a run is worse than its baselines follows from their data alone.',
  },
  {
    name: 'judge',
    sees: [
      ...[
        'lib',
        'contract',
        'plan/plan.ts',
        'plan/shard.ts',
        'plan/until-decided.ts',
        'observation',
        'judge/findings',
        'judge/results.ts',
        'judge/merge.ts',
        'judge/checks',
        'judge/audits',
      ],
      ...['judge/metrics', 'judge/capacity', 'judge/thresholds.ts', 'judge/compare'],
    ],
    because: 'It is the front of the judging half: the same for a live run and for a file.',
  },
  {
    name: 'report',
    sees: ['lib', 'contract', 'plan/plan.ts', 'plan/describe-plan.ts', 'judge'],
    because: 'One document, rendered many ways: a new section is one file, and so is a new format.',
  },
  {
    name: 'storage',
    sees: ['lib', 'contract', 'plan/plan.ts', 'plan/recorded-load.ts', 'observation', 'judge', 'report'],
    because: 'It is the only room that knows the files of a run directory.',
  },
  {
    name: 'outputs',
    sees: [
      ...[
        'lib',
        'plan/plan.ts',
        'plan/rate-curve.ts',
        'observation/log-lines.ts',
        'observation/trace-id.ts',
        'produce/transport',
        'judge',
        'report',
      ],
    ],
    because: 'An output watches a run and can change neither its load nor its verdict.',
  },
  {
    name: 'history',
    sees: ['lib', 'judge/compare', 'report', 'storage', 'outputs/http-server.ts', 'outputs/page-guard.ts'],
    because: 'It shows the runs of a folder, as run directories hold them; it starts none.',
  },
  {
    name: 'service',
    sees: ['lib', 'contract'],
    because: 'Two independent readings of the document share no arithmetic.',
  },
  {
    name: 'run',
    sees: [
      ...[
        'lib',
        'contract',
        'plan/plan.ts',
        'plan/limits.ts',
        'plan/recorded-load.ts',
        'plan/shard.ts',
        'plan/warm-up.ts',
        'plan/cost.ts',
        'observation',
      ],
      ...['produce', 'judge', 'report', 'storage', 'outputs/output.ts', 'service/server.ts', 'service/service.ts'],
    ],
    because: 'It is the composition root: it joins the halves, once per worker.',
  },
  {
    name: 'calibration',
    sees: [
      ...['lib', 'contract', 'scenario/load-scenario.ts', 'plan/make-plan.ts', 'observation', 'produce/transport'],
      ...['judge/results.ts', 'judge/metrics', 'report/document.ts', 'outputs/output.ts', 'run'],
    ],
    because: 'It is a run against a source whose times are known.',
  },
  {
    name: 'traffic',
    sees: ['lib', 'plan/recorded-load.ts', 'observation', 'storage'],
    because: 'It reads what others recorded, line by line, and writes a trace; it plans and sends nothing.',
  },
  {
    name: 'library',
    sees: [
      ...['lib', 'contract', 'scenario', 'plan', 'observation/log-lines.ts', 'produce/transport', 'produce/callers'],
      ...['judge/compare', 'report', 'storage', 'outputs', 'service', 'run', 'traffic'],
    ],
    because: 'It runs a scenario for a caller, which is the command line or another program.',
  },
  {
    name: 'prove',
    sees: [
      ...['lib', 'contract', 'scenario', 'plan/plan.ts', 'produce/callers', 'produce/transport', 'judge/not-judged.ts'],
      ...['report', 'library/draft.ts', 'library/options.ts', 'library/secrets.ts', 'library/shipped-files.ts'],
      ...['run', 'service'],
    ],
    because: 'It runs a scenario against services that lie, on a clock of its own. Nothing is sent.',
  },
  {
    name: 'shrink',
    sees: [
      ...['lib', 'contract', 'scenario', 'plan/plan.ts', 'report', 'storage/run-directory.ts', 'run/sequence.ts'],
      ...['library/options.ts', 'library/run-scenario.ts', 'library/shipped-files.ts'],
    ],
    because: 'It runs ever smaller scenarios through the library, and knows no way of its own to send.',
  },
  {
    name: 'diff',
    sees: [
      ...['lib', 'plan/plan.ts', 'produce/callers/api-keys.ts', 'judge/metrics', 'report', 'storage'],
      ...['scenario/schema.ts', 'scenario/load-scenario.ts', 'scenario/calls/calls.ts', 'contract/documented.ts'],
      ...['traffic', 'library', 'run'],
    ],
    because: 'It is two runs of the library at once, and what their reports say about each other.',
  },
  {
    name: 'learn',
    sees: [
      ...['lib', 'contract', 'scenario/load-scenario.ts', 'scenario/units.ts', 'plan/plan.ts', 'observation'],
      ...['produce/transport', 'produce/callers', 'produce/calls'],
      ...['judge/findings', 'judge/checks', 'judge/audits', 'library/shipped-files.ts'],
    ],
    because: 'It asks a target a few questions without a scenario. The judges of a run judge the answers.',
  },
  {
    name: 'turnpike.ts',
    sees: ['lib', 'scenario/schema.ts', 'report', 'traffic', 'library', 'prove', 'shrink', 'diff'],
    because: 'It is what a program may import, and no more.',
  },
  {
    name: 'vitest.ts',
    sees: ['lib', 'report'],
    because: 'The matchers of a test runner, which only those who import it need.',
  },
  {
    name: 'mcp',
    sees: ['lib'],
    because: 'It turns the tools of an agent into command lines, and can do nothing that a command cannot.',
  },
  {
    name: 'cli',
    sees: [
      ...['lib', 'contract', 'scenario', 'plan', 'observation/log-lines.ts', 'produce/transport', 'produce/callers'],
      ...['judge/compare', 'judge/judge-run.ts', 'report', 'storage', 'outputs', 'service', 'run', 'calibration'],
      ...['learn', 'library', 'prove', 'shrink', 'diff', 'mcp', 'history', 'traffic'],
    ],
    because: 'A command reads flags, calls one function, and prints.',
  },
  { name: 'main.ts', sees: ['lib', 'cli'], because: 'The one catch-all and the exit code.' },
]

/** From `main` to the wire: nine functions in nine files. The worker and `fire` are handed on as values. */
const hops: readonly Hop[] = [
  { file: 'src/cli/cli.ts', exports: 'runCli', handedOn: true },
  { file: 'src/cli/commands/run.ts', exports: 'runCommand' },
  { file: 'src/library/run-draft.ts', exports: 'runDraft' },
  { file: 'src/run/run.ts', exports: 'run', handedOn: true },
  { file: 'src/run/worker.ts', exports: 'createWorker' },
  { file: 'src/produce/engine.ts', exports: 'createEngine' },
  { file: 'src/produce/stages.ts', exports: 'driveStage' },
  { file: 'src/produce/drivers/open.ts', exports: 'driveOpen', handedOn: true },
  { file: 'src/produce/calls/send.ts', exports: 'sendArrival' },
]

/** Files that import one file for each entry of a table: a file that only its table imports is no fragment. */
const tables = [
  'src/cli/commands.ts',
  'src/cli/outputs.ts',
  'src/contract/clauses.ts',
  'src/contract/probes.ts',
  'src/judge/checks/checks.ts',
  'src/judge/audits/audits.ts',
  'src/learn/learn.ts',
  'src/observation/requests/request.ts',
  'src/produce/calls/kinds.ts',
  'src/produce/stages.ts',
  'src/report/page.ts',
  'src/report/render/renderers.ts',
  'src/scenario/calls/calls.ts',
  'src/service/lies/lies.ts',
  'src/traffic/formats.ts',
  'src/turnpike.ts',
  'src/service/rpc/node.ts',
]

/** One package, one door: its types do not leave it, and it can be replaced in an afternoon. */
const doors: Readonly<Record<string, Door>> = {
  '@noble/curves': {
    files: ['src/service/rpc/raw-transaction.ts'],
    because: 'it recovers the sender of a raw transaction',
  },
  '@noble/hashes': { files: ['src/service/wallets/identity.ts'], because: 'Keccak-256, which Node.js does not have' },
  autocannon: {
    files: ['src/produce/transport/autocannon.ts'],
    because: 'connections that are kept busy; its own summary is not used',
  },
  'hdr-histogram-js': { files: ['src/judge/metrics/histogram.ts'], because: 'numbers go in and percentiles come out' },
  leven: { files: ['src/lib/usage-error.ts'], because: 'it guesses the word that was meant' },
  pino: { files: ['src/outputs/progress.ts'], because: 'the log' },
  'prom-client': { files: ['src/outputs/prometheus/scrape.ts'], because: 'it sees numbers when Prometheus asks' },
  snappyjs: {
    files: ['src/outputs/remote-write/encoder.ts'],
    because: 'remote write is compressed so, and no other way',
  },
  viem: {
    files: [
      'src/service/wallets/evm-signatures.ts',
      'src/produce/callers/wallet-kinds.ts',
      'src/produce/callers/payment-maker.ts',
    ],
    because: 'sign-in texts and addresses of EVM wallets; optional, so it is loaded on first use',
  },
  'tiny-secp256k1': {
    files: ['src/service/wallets/evm-signatures.ts', 'src/produce/callers/wallet-kinds.ts'],
    because: 'the key that signed, and signatures; optional, so it is loaded on first use',
  },
  ...Object.fromEntries(
    ['@x402/core', '@x402/evm', '@x402/svm', '@solana/kit'].map(name => [
      name,
      {
        files: ['src/service/wallets/facilitator.ts', 'src/produce/callers/payment-maker.ts'],
        because: 'payments are made, verified and settled as others do it; optional, so it is loaded on first use',
      },
    ]),
  ),
  '@modelcontextprotocol/server': {
    files: ['src/mcp/serve.ts'],
    because: 'the protocol of agents; optional, so it is loaded on first use',
  },
  bullmq: {
    files: ['src/run/queue/queue.ts'],
    because: 'the queue of shards, its locks and its retries; optional, so it is loaded on first use',
  },
  ioredis: {
    files: ['src/run/queue/queue.ts'],
    because: 'the connection to Redis; optional, so it is loaded on first use',
  },
  undici: {
    files: [
      'src/produce/transport/connections.ts',
      'src/produce/transport/undici.ts',
      'src/produce/transport/failures.ts',
      'src/service/upstream/http-upstream.ts',
    ],
    because:
      'its connections, its callbacks, and the codes of its errors; for a run, and for the upstreams of the service',
  },
  vitest: { files: ['src/vitest.ts'], because: 'the matchers of the test runner, for those who have it' },
  yaml: { files: ['src/lib/yaml.ts'], because: 'the files that people write: scenarios and profiles' },
  yargs: { files: ['src/cli/cli.ts'], because: 'the command line' },
  zod: {
    files: [
      ...['src/contract', 'src/lib/schemas.ts', 'src/scenario', 'src/service/chat/request.ts'],
      ...[
        'src/report/document.ts',
        'src/judge/results.ts',
        'src/library/options.ts',
        'src/mcp/tools.ts',
        'src/mcp/tool.ts',
      ],
      ...['src/judge/compare/comparison.ts', 'src/judge/metrics/slices.ts'],
      ...['src/plan/plan.ts', 'src/observation/observation.ts', 'src/observation/log-lines.ts'],
      'src/observation/requests',
    ],
    because:
      'outside data enters as profile, scenario, plan, log, report, options, as a request to the reference service, and as a call of a tool',
  },
  'node:child_process': {
    files: ['src/library/child-process.ts', 'src/cli/commands/mcp.ts'],
    because: 'a server, or a command for an agent, in a process of its own',
  },
  'node:crypto': {
    files: [
      ...[
        'src/produce/calls/read-response.ts',
        'src/produce/calls/stream-reader.ts',
        'src/library/run-draft.ts',
        'src/report/render/html.ts',
        'src/service/keyed-replies.ts',
        'src/service/wallets/identity.ts',
        'src/service/wallets/sign-in.ts',
        'src/run/warm-up.ts',
        'src/produce/callers/signer.ts',
        'src/produce/callers/wallet-keys.ts',
        'src/produce/callers/wallet-kinds.ts',
        'src/run/queue/seal.ts',
        'src/outputs/page-guard.ts',
      ],
    ],
    because:
      'fingerprints of bodies, of payments, of plans, of tokens, and of the style that a page allows; signatures; what only one worker may read; the chance in the name of a run and in a key',
  },
  'node:fs': {
    files: [
      ...['src/lib/read-text.ts', 'src/storage/temporary-record.ts', 'src/storage/run-index.ts'],
      ...['src/observation/log.ts', 'src/library/shipped-files.ts', 'src/mcp/permissions.ts'],
      ...[
        'src/cli/commands/init.ts',
        'src/cli/commands/shrink.ts',
        'src/cli/finding-script.ts',
        'src/outputs/github.ts',
        'src/storage/run-directory.ts',
        'src/run/threads.ts',
      ],
      ...['src/main.ts', 'src/run/queue/run-state.ts'],
      ...['src/traffic/import-traffic.ts', 'src/traffic/own-run.ts'],
    ],
    because:
      'keys, profile, and scenario come in; first files, log, report and the summary of a CI step go out; the threads of V8; how many files may be open; the scripts of Redis',
  },
  'node:fs/promises': {
    files: [
      ...['src/observation/log.ts', 'src/storage/run-directory.ts', 'src/storage/log-copy.ts'],
      'src/traffic/text-source.ts',
    ],
    because: 'what is written while a run goes, or collected from other machines; traffic of any size',
  },
  'node:http': {
    files: ['src/outputs/http-server.ts', 'src/outputs/live-page/page-server.ts', 'src/service/server.ts'],
    because: 'the two servers, and the types of a page that stays open',
  },
  'node:https': { files: ['src/service/server.ts'], because: 'a target with TLS has a warm-up with TLS' },
  'node:os': {
    files: [
      'src/lib/clock.ts',
      'src/run/threads.ts',
      'src/cli/commands/worker.ts',
      'src/run/queue/serve-shards.ts',
      'src/storage/temporary-record.ts',
      'src/prove/mutant-threads.ts',
    ],
    because: 'the priority of the threads of V8; the name, size and uptime of a machine; its folder of temporary files',
  },
  'node:tls': {
    files: ['src/service/server.ts', 'src/run/warm-up-service.ts', 'src/produce/transport/connections.ts'],
    because: 'the types of its settings',
  },
  'node:dgram': { files: ['src/outputs/statsd.ts'], because: 'StatsD goes over UDP' },
  'node:dns/promises': { files: ['src/outputs/statsd.ts'], because: 'a socket of UDP is of one family of addresses' },
  'node:net': {
    files: [
      ...['src/calibration/raw-reader.ts', 'src/calibration/server.ts'],
      ...['src/service/server.ts', 'src/produce/transport/autocannon.ts', 'src/produce/transport/connections.ts'],
    ],
    because: 'addresses, how the far end of a connection went away, and what is measured without anything between',
  },
  'node:v8': {
    files: ['src/run/threads.ts', 'src/run/warm-up.ts', 'src/run/queue/shared-job.ts'],
    because: 'when garbage is collected; what a thread gets as it is, another machine gets as bytes',
  },
  'node:vm': { files: ['src/run/warm-up.ts'], because: 'what collects garbage is found nowhere else' },
  'node:worker_threads': {
    files: [
      ...['src/run/threads.ts', 'src/run/thread-main.ts'],
      ...['src/run/warm-up.ts', 'src/run/warm-up-service.ts', 'src/run/signer-thread.ts', 'src/run/signer-main.ts'],
      'src/prove/thread-main.ts',
      ...['src/prove/mutant-threads.ts', 'src/prove/thread-main.ts'],
    ],
    because:
      'the two ends of a thread: of a load, of what signs for it, of the service of a warm-up, and of runs in memory',
  },
  'node:perf_hooks': { files: ['src/lib/clock.ts'], because: 'the delay of our own event loop' },
}

const harmless = ['node:events', 'node:path', 'node:readline', 'node:url', 'node:util', 'node:zlib']

/** Time, chance and the process are touched here; everything else runs under virtual time and can be replayed. */
const edges: Readonly<Record<string, Edge>> = {
  'src/lib/clock.ts': {
    touches: ['clock', 'timer', 'process'],
    because: 'the one clock, which is handed to all, and the clock that all processes of a machine share',
  },
  'src/lib/batches.ts': { touches: ['clock', 'timer'], because: 'when the event loop has nothing better to do' },
  'src/main.ts': { touches: ['process'], because: 'arguments in, exit code out, and what the catch-all says' },
  'src/prove/manual-clock.ts': { touches: ['timer'], because: 'lets promises settle between two virtual instants' },
  'src/produce/transport/connections.ts': {
    touches: ['timer'],
    because: 'closes a connection that was opened in advance and not used',
  },
  'src/produce/callers/api-keys.ts': { touches: ['process'], because: 'reads the keys from the environment' },
  'src/produce/callers/wallet-keys.ts': { touches: ['process'], because: 'reads private keys from the environment' },
  'src/cli/cli.ts': {
    touches: ['process'],
    because: 'writes the version to stdout, and the help without a command to stderr',
  },
  'src/cli/commands/completion.ts': { touches: ['process'], because: 'writes scripts and words to stdout' },
  'src/library/run-draft.ts': { touches: ['clock'], because: 'names the run by its time' },
  'src/library/run-scenario.ts': { touches: ['process'], because: 'reads the keys from the environment' },
  'src/cli/commands/calibrate.ts': { touches: ['process'], because: 'writes the certificate to stdout' },
  'src/cli/commands/clauses.ts': { touches: ['process'], because: 'writes its table to stdout' },
  'src/outputs/github.ts': { touches: ['process'], because: 'asks whether a run is a step there, and tells it' },
  'src/cli/interrupts.ts': { touches: ['process'], because: 'listens for ^C' },
  'src/cli/commands/profile.ts': { touches: ['process'], because: 'writes the profile to stdout' },
  'src/shrink/shrink-run.ts': { touches: ['process'], because: 'sees whether the environment has keys' },
  'src/cli/finding-script.ts': { touches: ['process'], because: 'writes the script to stdout, and notes to stderr' },
  'src/cli/commands/shrink.ts': {
    touches: ['process'],
    because: 'writes the scenario to stdout, and progress to stderr',
  },
  'src/cli/commands/init.ts': { touches: ['process'], because: 'writes what it wrote, and the next steps, to stdout' },
  'src/cli/commands/mcp.ts': {
    touches: ['process'],
    because: 'starts the program again; the working directory is the limit of paths, and the end of stdin ends it',
  },
  'src/cli/progress-bar.ts': { touches: ['process'], because: 'shows on stderr how far a command is' },
  'src/cli/commands/import.ts': { touches: ['process'], because: 'writes what it imported to stdout' },
  'src/cli/commands/diff.ts': { touches: ['process'], because: 'hands on the environment; progress goes to stderr' },
  'src/cli/commands/plan.ts': { touches: ['process'], because: 'writes the plan to stdout' },
  'src/cli/commands/run.ts': {
    touches: ['process'],
    because: 'reads secrets of receivers; shows on stderr what a refused run would have cost',
  },
  'src/learn/command.ts': { touches: ['process'], because: 'reads the keys, and writes the profile to stdout' },
  'src/cli/commands/upgrade.ts': { touches: ['process'], because: 'writes a command to stdout' },
  'src/cli/commands/ui.ts': { touches: ['process'], because: 'says on stderr how many reports it reads' },
  'src/cli/commands/attach.ts': { touches: ['process'], because: 'reads secrets of receivers' },
  'src/cli/commands/worker.ts': { touches: ['process'], because: 'says on stderr what it drives' },
  'src/cli/commands/service.ts': {
    touches: ['process'],
    because: 'prints where a server listens, and the lies; ends on a signal',
  },
  'src/run/queue/serve-shards.ts': { touches: ['process'], because: 'measures the CPU and the memory of a worker' },
  'src/cli/upstreams.ts': {
    touches: ['process'],
    because: 'reads the keys of upstreams from the environment, and prints their failures on stderr',
  },
  'src/cli/print.ts': { touches: ['process'], because: 'writes the report to stdout, as wide as that is' },
  'src/cli/watch-run.ts': { touches: ['process'], because: 'shows progress on stderr, as a terminal or a pipe' },
}

/** Where a process, a program that imports Turnpike, and a thread begin. */
const beginnings = [
  ...['src/main.ts', 'src/turnpike.ts', 'src/vitest.ts', 'src/run/thread-main.ts', 'src/run/signer-main.ts'],
  'src/prove/thread-main.ts',
]

const longTables = {
  'test/architecture.test.ts': 'this document',
  'src/cli/commands.ts': 'a row for each command',
}

const tools = {
  'msgpackr-extract': 'the version that exists for every platform, for bullmq',
  '@biomejs/biome': 'npm run lint',
  typescript: 'npm run build',
  esbuild: 'npm run build',
  tsx: 'npm run bench',
}

type Kept = {
  readonly text: string
  readonly rule: Rule
  /** Files that break the rule when they are added to the tree: path → text. */
  readonly planted: readonly (readonly [path: string, text: string])[]
}

const rules: readonly Kept[] = [
  {
    text: 'imports only look up, and only at what the table of rooms allows',
    rule: seesOnly(rooms),
    planted: [
      ['src/lib/spy.ts', "import type { Plan } from '../plan/plan.ts'"],
      ['src/contract/spy.ts', "import { loadScenario } from '../scenario/load-scenario.ts'"],
      ['src/produce/arrivals/spy.ts', "import type { Scenario } from '../../scenario/schema.ts'"],
      ['src/report/spy.ts', "import { parseUsd } from '../scenario/units.ts'"],
      ['src/observation/spy.ts', "import type { Exchange } from '../produce/transport/transport.ts'"],
      ['src/produce/drivers/spy.ts', "import type { Transport } from '../transport/transport.ts'"],
      ['src/produce/drivers/spy.ts', "import { makePlan } from '../../plan/make-plan.ts'"],
      ['src/produce/spy.ts', "import { makePlan } from '../plan/make-plan.ts'"],
      ['src/judge/checks/spy.ts', "import { buildRpc } from '../../produce/calls/rpc.ts'"],
      ['src/judge/checks/spy.ts', "import type { Audit } from '../audits/audit.ts'"],
      ['src/judge/audits/spy.ts', "import { driveOpen } from '../../produce/drivers/open.ts'"],
      ['src/judge/metrics/spy.ts', "import { makePlan } from '../../plan/make-plan.ts'"],
      ['src/judge/metrics/spy.ts', "import { createSendQueue } from '../../outputs/remote-write/send-queue.ts'"],
      ['src/outputs/spy.ts', "import type { DriverContext } from '../produce/drivers/driver.ts'"],
      ['src/outputs/spy.ts', "import type { Observation } from '../observation/observation.ts'"],
      ['src/report/spy.ts', "import { buildRequest } from '../produce/calls/kinds.ts'"],
      ['src/report/spy.ts', "const { send } = await import('../produce/transport/undici.ts')"],
      ['src/service/spy.ts', "import { credits } from '../judge/checks/rpc-credits.ts'"],
      ['src/judge/metrics/spy.ts', "export { createService } from '../../service/service.ts'"],
      ['src/cli/spy.ts', "import '../main.ts'"],
      ['src/commerce/spy.ts', 'export const place = null'],
    ],
  },
  {
    text: 'the table of rooms shows no arrow that is not there',
    rule: usesAllItSees(rooms),
    planted: [['src/main.ts', '']],
  },
  {
    text: 'the producing half and the judging half import nothing of each other',
    rule: apart('src/produce', 'src/judge'),
    planted: [
      ['src/produce/spy.ts', "import { createJudge } from '../judge/judge.ts'"],
      ['src/judge/spy.ts', "import { createEngine } from '../produce/engine.ts'"],
    ],
  },
  {
    text: 'nine functions lead from main to the wire, each file importing the next',
    rule: chain(hops),
    planted: [
      ['src/run/worker.ts', 'export function createWorker() {}'],
      ['src/produce/calls/send.ts', "import '../arrivals/arrivals.ts'"],
    ],
  },
  {
    text: 'a worker is created in a thread or inline, and nowhere else',
    rule: importedOnlyBy('src/run/worker.ts', ['src/run/thread-main.ts', 'src/run/inline.ts']),
    planted: [['src/run/spy.ts', "import { createWorker } from './worker.ts'"]],
  },
  {
    text: 'only a worker creates an engine, and the messages to it carry its job',
    rule: importedOnlyBy('src/produce/engine.ts', ['src/run/worker.ts', 'src/run/messages.ts']),
    planted: [['src/run/spy.ts', "import { createEngine } from '../produce/engine.ts'"]],
  },
  {
    text: 'src has at most 600 files',
    rule: atMostFiles(600),
    planted: [],
  },
  {
    text: 'a folder has at most 20 files',
    rule: atMostFilesPerFolder(20),
    planted: [],
  },
  {
    text: 'few files exist for one other file alone',
    rule: fewFragments(90, 2, tables),
    planted: [],
  },
  {
    text: 'the words are those of the field',
    rule: noPrivateWords(privateWords, ['test/support/private-words.ts', 'CHANGELOG.md', 'docs/decisions']),
    planted: [
      ['src/lib/spy.ts', `export const ${'pur'}se = 3`],
      ['src/lib/spy.ts', `// ${'who'}ever reads this`],
      ['docs/spy.md', `a run that is ${'under'} way`],
    ],
  },
  {
    text: 'a name that src exports means one thing',
    rule: oneMeaning,
    planted: [
      ['src/service/spy.ts', 'export type Clock = number'],
      ['src/cli/spy.ts', 'export const run = 1'],
    ],
  },
  {
    text: 'one package has one door',
    rule: oneDoor(doors, harmless),
    planted: [
      ['src/produce/calls/spy.ts', "import { request } from 'undici'"],
      ['src/produce/transport/spy.ts', "import { Agent } from 'undici'"],
      ['src/report/spy.ts', "import { z } from 'zod'"],
      ['src/service/spy.ts', "import { z } from 'zod/v4'"],
      ['src/report/spy.ts', "import { siwe } from '@wallet/siwe'"],
      ['src/judge/checks/spy.ts', "import { readFileSync } from 'node:fs'"],
      ['src/lib/spy.ts', "const { createHash } = await import('node:crypto')"],
    ],
  },
  {
    text: 'time, chance, console, network and process are touched at the named edges only',
    rule: effectsAtEdges(edges),
    planted: [
      ['src/judge/checks/spy.ts', 'export const nowMs = Date.now()'],
      ['src/service/spy.ts', 'export const today = new Date( )'],
      ['src/judge/metrics/spy.ts', 'export const nowMs = performance.now()'],
      ['src/produce/arrivals/spy.ts', 'export const pick = () => Math.random()'],
      ['src/produce/drivers/spy.ts', 'setTimeout(() => {}, 10)'],
      ['src/produce/drivers/spy.ts', 'export const tick = setInterval'],
      ['src/produce/drivers/spy.ts', 'setImmediate(() => {})'],
      ['src/produce/drivers/spy.ts', 'export const signal = AbortSignal.timeout(10)'],
      ['src/produce/callers/spy.ts', 'export const { KEY } = process.env'],
      ['src/run-spy.ts', 'process.exit(1)'],
      ['src/report/spy.ts', 'export const { stdout } = process'],
      ['src/judge-spy.ts', "process.on('exit', () => {})"],
      ['src/report/spy.ts', 'console.log(1)'],
      ['src/produce/calls/spy.ts', "export const answer = await fetch('http://127.0.0.1')"],
    ],
  },
  {
    text: 'nothing is exported by default: a thing has one name everywhere',
    rule: notInCode(/\bexport\s+default\b/, 'exports by default'),
    planted: [['src/lib/spy.ts', 'export default 3']],
  },
  {
    text: 'no file passes on all of another: who needs a thing imports it from where it is',
    rule: notInCode(/\bexport\s+\*/, 'passes on another module'),
    planted: [['src/lib/spy.ts', "export * from './clock.ts'"]],
  },
  {
    text: 'there is no enum: a union of literals is data already',
    rule: notInCode(/(?<![.\w])enum\s+\w/, 'declares an enum'),
    planted: [['src/lib/spy.ts', 'export const enum Level { low }']],
  },
  {
    text: 'there is no any: what is not known is unknown, until it is parsed',
    rule: notInCode(/(?<![.\w])any\b(?!\s*\()/, 'says any'),
    planted: [
      ['src/lib/spy.ts', 'export const size = (value: any) => value.size'],
      ['src/lib/spy.ts', 'export const size = (value: unknown) => (value as any).size'],
    ],
  },
  {
    text: 'nothing is asserted to be there with an exclamation mark',
    rule: notInCode(/[\w)\]]!(?!=)/, 'asserts that something is there'),
    planted: [
      ['src/lib/spy.ts', 'export const first = (list: number[]) => list[0]!'],
      ['src/lib/spy.ts', 'export const width = (box?: { width: number }) => box!.width'],
      ['src/lib/spy.ts', 'export const name = find()!.name'],
    ],
  },
  {
    text: 'there is no namespace: a file is one',
    rule: notInCode(/\b(?:namespace|module)\s+[\w.]+\s*\{/, 'declares a namespace'),
    planted: [['src/lib/spy.ts', 'export namespace Money { export const digits = 12 }']],
  },
  {
    text: 'there is no class but of errors: records and functions do',
    rule: notInCode(/(?<![.\w])class\b(?!\s+\w+\s+extends\s+\w*Error\b)(?!\s*[:,})])/, 'declares a class'),
    planted: [
      ['src/lib/spy.ts', 'export class Wallet { balance = 0 }'],
      ['src/lib/spy.ts', 'export class Account extends Wallet {}'],
      ['src/lib/spy.ts', 'export const Account = class { coins = 0 }'],
    ],
  },
  {
    text: 'no failure is swallowed without a word',
    rule: notInText(/\bcatch\s*(?:\([^)]*\)\s*)?\{\s*\}/, 'catches and says nothing', 'src/'),
    planted: [
      ['src/lib/spy.ts', 'try { work() } catch {}'],
      ['src/lib/spy.ts', 'try { work() } catch (cause) {\n}'],
    ],
  },
  {
    text: 'names say what is in a file: if a thing has no home, its idea has no name yet',
    rule: namedForTheirIdea(['index', 'utils', 'util', 'helpers', 'helper', 'common', 'types', 'misc', 'shared']),
    planted: [
      ['src/lib/index.ts', ''],
      ['src/produce/calls/types.ts', ''],
      ['test/support/helpers.ts', ''],
      ['test/unit/lib/utils.test.ts', ''],
      ['src/lib/usageError.ts', ''],
      ['src/lib/Usage-error.ts', ''],
    ],
  },
  {
    text: 'a file has at most 400 lines, but for tables of data',
    rule: atMostLines(400, longTables),
    planted: [['src/lib/spy.ts', '\n// a line'.repeat(401)]],
  },
  {
    text: 'nothing is left to be done in a comment',
    rule: notInText(/\b(?:TO|FIX)(?:DO|ME)\b/, 'leaves something to be done'),
    planted: [
      ['src/lib/spy.ts', `// ${'to'.toUpperCase()}${'do'.toUpperCase()}: later`],
      ['docs/spy.md', `${'fix'.toUpperCase()}${'me'.toUpperCase()}`],
    ],
  },
  {
    text: 'nothing refers to a directory of the machine on which it was written',
    rule: notInText(/(?<![\w.])[/]work\b|\bshared[/]/, 'names a place outside of the project'),
    planted: [
      ['docs/spy.md', `see ${'/wo'}rk/main`],
      ['src/lib/spy.ts', `// as in ${'sha'}red/notes.md`],
    ],
  },
  {
    text: 'no file imports itself, even by way of others',
    rule: noCycle,
    planted: [
      ['src/lib/spy.ts', "import './spy.ts'"],
      ['src/lib/clock.ts', "export { openLog } from '../observation/log.ts'"],
    ],
  },
  {
    text: 'every file of src is reached from main.ts, from what exports opens, or from where a thread begins',
    rule: noDeadFile(...beginnings),
    planted: [['src/lib/spy.ts', 'export const forgotten = true']],
  },
  {
    text: 'an optional package is loaded on first use',
    rule: optionalOnUse,
    planted: [['src/service/spy.ts', "import { hashMessage } from 'viem'"]],
  },
  {
    text: 'every dependency is needed',
    rule: noIdleDependency(tools),
    planted: [
      ['package.json', '{ "dependencies": { "left-pad": "1.3.0" } }'],
      ['package.json', '{ "optionalDependencies": { "left-pad": "1.3.0" } }'],
      ['package.json', '{ "devDependencies": { "left-pad": "1.3.0" } }'],
    ],
  },
]

const tree = readTree('')

describe.each(rules)('$text', ({ rule, planted }) => {
  let found: readonly string[] | undefined
  const broken = () => (found ??= rule(tree))
  test('holds', () => {
    expect(broken()).toEqual([])
  })

  for (const [path, text] of planted) {
    test(`is seen to be broken by ${path}: ${text.trim().split('\n')[0]}`, () => {
      const after = rule([...tree.filter(file => file.path !== path), { path, text }])
      expect(after.filter(line => !broken().includes(line))).not.toEqual([])
    })
  }
})

test('every room, door and edge of the tables is there, and has its reason', () => {
  const paths = tree.map(file => file.path)
  const listed = [
    ...Object.values(doors).flatMap(({ files }) => files),
    ...Object.keys(edges),
    ...Object.keys(longTables),
  ]
  expect(listed.filter(name => !paths.some(path => path === name || path.startsWith(`${name}/`)))).toEqual([])
  expect([...rooms, ...Object.values(doors), ...Object.values(edges)].filter(({ because }) => because === '')).toEqual(
    [],
  )
})

test('docs/architecture.md shows the table of rooms', () => {
  const file = 'docs/architecture.md'
  const current = withRooms(readFileSync(file, 'utf8'), rooms)
  if (process.env.UPDATE_DOCS === '1') writeFileSync(file, current)
  expect(readFileSync(file, 'utf8'), 'UPDATE_DOCS=1 npx vitest run test/architecture.test.ts').toBe(current)
})

/** Every text file of the project, but for what is installed, built or written by runs. */
function readTree(folder: string): readonly SourceFile[] {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const left = ['node_modules', '.git', 'dist', 'dist-bench', 'runs', 'package-lock.json']
  return readdirSync(root + folder, { withFileTypes: true })
    .filter(({ name }) => !left.includes(name))
    .flatMap(entry => {
      const path = folder + entry.name
      if (entry.isDirectory()) return readTree(`${path}/`)
      const text = readFileSync(root + path, 'utf8')
      return text.includes('\0') ? [] : [{ path, text }]
    })
}
