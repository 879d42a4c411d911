import type { ComparisonFormat, Format } from '../report/render/renderers.ts'
import type { FormatName } from '../traffic/formats.ts'
import { type Command, exitCodes, type Flag, text } from './flags.ts'
import { outputFlags } from './outputs.ts'

/** Listed here, so that `--help` does not load the renderers. */
const formats: readonly Format[] = ['text', 'json', 'html', 'junit', 'markdown', 'sarif']

/** Listed here, so that `--help` does not load their readers. */
const trafficFormats: readonly FormatName[] = [
  'mooncake',
  'bailian',
  'otlp',
  'spans',
  'har',
  'azure',
  'burstgpt',
  'run',
]

const comparisonFormats: readonly ComparisonFormat[] = ['text', 'json', 'html', 'markdown']

const scenario: Flag = { type: 'string', describe: 'A scenario file (YAML), or the name of a shipped one' }
const failCode: Flag = {
  type: 'number',
  describe: 'Exit code in place of 1, if the verdict is fail',
  default: exitCodes.fail,
}
const runDirectory: Flag = { type: 'string', describe: 'A run directory' }
const profile: Flag = { type: 'string', describe: 'Profile (YAML or a shipped name) over the document' }
const learnedOver: Flag = { type: 'string', describe: 'Profile with what requests to the target need' }
const limitsFrom: Flag = {
  type: 'string',
  describe: 'Judge limits by the target or the document',
  choices: ['target', 'documented'],
  default: 'target',
}
const seed: Flag = { type: 'number', describe: 'Random seed; overrides the scenario' }
const target: Flag = { type: 'string', describe: 'Base URL of the service under test' }
const budget: Flag = { type: 'string', describe: 'Maximum spend in USD, or unlimited; overrides scenario' }
const learnBudget: Flag = { ...budget, describe: 'Maximum spend in USD, or unlimited' }
const topUp: Flag = { type: 'string', describe: 'Maximum that wallets pay, in USD (default: ask only)' }
const only: Flag = { type: 'string', describe: 'Call to send, or clause to judge (with *); repeatable', array: true }
const format: Flag = { type: 'string', describe: 'Output format', choices: formats, default: 'text' }
const baseline: Flag = { type: 'string', describe: 'Baseline run directory; repeatable', array: true }
const textOrJson: Flag = { ...format, choices: ['text', 'json'] }
const criteria = {
  'min-effect': { type: 'string', describe: 'Smallest change that matters (default: 5%)' },
  'noise-floor': { type: 'string', describe: 'Minimum run-to-run noise to assume (default: 2%)' },
} as const satisfies Readonly<Record<string, Flag>>

const rate: Flag = { type: 'number', describe: 'Tokens per second of each stream', default: 50 }
const tokensPerWrite: Flag = { type: 'number', describe: 'Tokens per write', default: 1 }

/** Every command, in the order of `--help`. */
export const commands: readonly Command[] = [
  {
    usage: 'init [dir]',
    describe: 'Write a first scenario, a profile and a CI job',
    arguments: { dir: { type: 'string', describe: 'Folder of the project (default: this one)' } },
    flags: {
      ci: {
        type: 'string',
        describe: 'CI that gets a nightly job',
        choices: ['github', 'gitlab', 'jenkins', 'none'],
        default: 'github',
      },
      target: { ...target, describe: 'Base URL of a service to learn and to fit the files to' },
      profile: learnedOver,
      'budget-usd': learnBudget,
      thorough: { type: 'boolean', describe: 'Learn and judge what takes longer than a minute, too', default: false },
      format: textOrJson,
    },
    examples: [
      ['init --target http://127.0.0.1:8000/v1', 'Learn a service, and write a scenario that runs against it'],
      ['init --ci gitlab', 'Write a job for GitLab CI'],
    ],
    run: async values => (await import('./commands/init.ts')).initCommand(values),
  },
  {
    usage: 'run <scenarios..>',
    describe: 'Run scenarios and report a verdict',
    arguments: { scenarios: { ...scenario, array: true } },
    flags: {
      target: { ...target, describe: `${target.describe} (default: embedded)` },
      out: { type: 'string', describe: 'Run directory (default: runs/<time>-<scenario>)' },
      seed,
      'budget-usd': budget,
      'top-up': topUp,
      profile,
      'limits-from': limitsFrom,
      only,
      'fail-fast': {
        type: 'boolean',
        describe: 'Stop at the first violation',
        default: false,
      },
      'fail-code': failCode,
      until: { type: 'string', describe: 'End the load once every threshold is decided', choices: ['decided'] },
      workers: { type: 'number', describe: 'Threads that share the callers', default: 1 },
      redis: { type: 'string', describe: 'Redis URL of the workers (default: TURNPIKE_REDIS)' },
      shards: { type: 'number', describe: 'Workers elsewhere that share the callers (with --redis)' },
      'max-silence': { type: 'number', describe: 'Worker heartbeat timeout in seconds', default: 10 },
      collect: { type: 'boolean', describe: 'Copy the records of all shards into the run directory', default: false },
      'ready-within': { type: 'number', describe: 'Seconds until every shard must be ready', default: 60 },
      baseline,
      ...criteria,
      ...outputFlags,
      traces: { type: 'boolean', describe: 'Trace requests; export spans (with --otlp)', default: false },
      'warm-up': {
        type: 'boolean',
        describe: 'Warm up, at most 3 s, before the load starts',
        default: true,
      },
      progress: { type: 'boolean', describe: 'Show progress', default: true },
      quiet: { type: 'boolean', describe: 'Print warnings only', default: false },
      log: {
        type: 'string',
        describe: 'Format of progress and notes',
        choices: ['text', 'json'],
        default: 'text',
      },
      format,
    },
    examples: [
      ['run smoke', 'Run a shipped scenario against a service that Turnpike starts'],
      ['run my.yaml --target https://api.example.com/v1 --budget-usd 0.50', 'Test your service, for at most 50 cents'],
      [
        'run llm-server --target http://127.0.0.1:8000/v1',
        'Test any OpenAI-compatible server, or with rpc-node any Ethereum node',
      ],
      ['run nightly --baseline runs/last --out runs/new', 'Fail if the service got worse'],
    ],
    run: async values => (await import('./commands/run.ts')).runCommand(values),
  },
  {
    usage: 'worker',
    describe: 'Run as a worker of distributed runs',
    arguments: {},
    flags: {
      redis: { type: 'string', describe: 'Redis URL (default: TURNPIKE_REDIS)' },
      name: { type: 'string', describe: 'Name of this worker (default: host and process)' },
      out: { type: 'string', describe: 'Folder for the records of shards (default: runs)' },
      once: { type: 'boolean', describe: 'End after one shard', default: false },
    },
    examples: [['worker --redis redis://queue.example:6379', 'Wait for shards of runs']],
    run: async values => (await import('./commands/worker.ts')).workerCommand(values),
  },
  {
    usage: 'attach <run>',
    describe: 'Follow and conclude a run over machines',
    arguments: { run: { type: 'string', describe: 'The id of a run' } },
    flags: {
      redis: { type: 'string', describe: 'Redis URL (default: TURNPIKE_REDIS)' },
      out: { type: 'string', describe: 'Run directory (default: runs/<run>-<scenario>-attached)' },
      'fail-code': failCode,
      baseline,
      ...criteria,
      ...outputFlags,
      progress: { type: 'boolean', describe: 'Show progress', default: true },
      quiet: { type: 'boolean', describe: 'Hide progress and messages', default: false },
      format,
    },
    examples: [['attach 20260101T000000Z-1a2b3c --redis redis://queue.example:6379', 'Conclude a run']],
    run: async values => (await import('./commands/attach.ts')).attachCommand(values),
  },
  {
    usage: 'plan <scenario>',
    describe: 'Show what a scenario will send, spend and prove',
    arguments: { scenario },
    flags: {
      target: { ...target, describe: `${target.describe}, to discover its offer` },
      seed,
      'budget-usd': budget,
      'top-up': topUp,
      profile,
      'limits-from': limitsFrom,
      only,
      detect: { type: 'string', describe: 'A change to notice, such as "p95 ttft +5%": what it takes' },
      power: { type: 'number', describe: 'The chance to notice it (with --detect; default: 0.9)' },
      baseline: { type: 'string', describe: 'Run directory that shows how times vary (with --detect)' },
      format: textOrJson,
    },
    examples: [
      ['plan nightly --detect "p95 ttft +5%" --power 0.9', 'Show how many requests a change takes to show up'],
      ['plan smoke', 'Show what a shipped scenario sends'],
      ['plan my.yaml --target https://api.example.com/v1', 'Use the models and the limits that your service states'],
    ],
    run: async values => (await import('./commands/plan.ts')).planCommand(values),
  },
  {
    usage: 'prove <scenario>',
    describe: 'Show which lies of a service a scenario would notice',
    arguments: { scenario },
    flags: {
      profile,
      'min-score': { type: 'string', describe: 'Fail if a smaller share of lies is noticed, such as 80%' },
      'fail-code': failCode,
      seed,
      'limits-from': limitsFrom,
      only,
      sensitivity: { type: 'boolean', describe: 'Measure what thresholds on times notice', default: true },
      suggestions: { type: 'boolean', describe: 'Look for additions that notice more', default: true },
      workers: { type: 'number', describe: 'Threads that share the runs (default: one per core)' },
      progress: { type: 'boolean', describe: 'Show progress', default: true },
      format: { ...format, choices: ['text', 'json', 'html'] },
    },
    examples: [
      ['prove my.yaml --profile my-service.yaml', 'Test the test, without sending a request'],
      ['prove my.yaml --format html > proof.html', 'Write a page with all of it'],
      ['prove nightly --min-score 80%', 'Fail if the scenario notices less than before'],
    ],
    run: async values => (await import('./commands/prove.ts')).proveCommand(values),
  },
  {
    usage: 'diff <old> <new> [scenario]',
    describe: 'Tell whether a new version of a service is worse',
    arguments: {
      old: { ...target, describe: 'Base URL of the old version' },
      new: { ...target, describe: 'Base URL of the new version' },
      scenario,
    },
    flags: {
      shadow: { type: 'string', describe: 'Recorded traffic to send: a run directory or a file' },
      text: { type: 'boolean', describe: 'Keep the text of prompts (with --shadow)', default: false },
      margin: { type: 'string', describe: 'How much worse, such as ttft=5% or p95.ttft=10%', array: true },
      out: { type: 'string', describe: 'Folder of both runs (default: runs/<time>-<scenario>-diff)' },
      seed,
      'budget-usd': { ...budget, describe: 'Maximum spend of both in USD, or unlimited' },
      'fail-code': failCode,
      profile,
      'limits-from': limitsFrom,
      only,
      'warm-up': { type: 'boolean', describe: 'Warm up, at most 3 s, before the load starts', default: true },
      quiet: { type: 'boolean', describe: 'Hide progress and notes', default: false },
      format: { ...format, choices: ['text', 'json', 'html'] },
    },
    examples: [
      [
        'diff https://api.example.com/v1 https://next.example.com/v1 my.yaml --budget-usd 1',
        'Compare two versions of your service, for at most one dollar together',
      ],
      [
        'diff http://127.0.0.1:8000/v1 http://127.0.0.1:8001/v1 --shadow traffic.har',
        'Compare them by recorded traffic',
      ],
    ],
    run: async values => (await import('./commands/diff.ts')).diffCommand(values),
  },
  {
    usage: 'import <traffic>',
    describe: 'Make a scenario of recorded traffic',
    arguments: { traffic: { type: 'string', describe: 'A file of recorded traffic, or a run directory' } },
    flags: {
      from: { type: 'string', describe: 'Format of the traffic (default: by content)', choices: trafficFormats },
      out: { type: 'string', describe: 'Scenario to write (default: <traffic>.yaml)' },
      speed: { type: 'number', describe: 'Speed factor (default: 1)' },
      rate: { type: 'string', describe: 'Mean rate such as 20/s, instead of --speed' },
      sample: { type: 'string', describe: 'Share of requests to keep, by session', default: '100%' },
      duration: { type: 'string', describe: 'Only this time from the first request on' },
      seed: { type: 'number', describe: 'Random seed of the sample and the scenario', default: 1 },
      'max-bad': { type: 'string', describe: 'Largest share of bad lines', default: '1%' },
      'block-tokens': { type: 'number', describe: 'Tokens per block of hash_ids (default: by format)' },
      text: { type: 'boolean', describe: 'Keep the text of prompts', default: false },
      models: { type: 'boolean', describe: 'Send to the models of the traffic', default: false },
      progress: { type: 'boolean', describe: 'Show progress', default: true },
      format: textOrJson,
    },
    examples: [
      ['import mooncake_trace.jsonl --sample 10%', 'Repeat every tenth request, with its lengths and prefixes'],
      ['import spans.json --rate 20/s --duration 10m', 'Repeat ten minutes of spans, at 20 requests per second'],
    ],
    run: async values => (await import('./commands/import.ts')).importCommand(values),
  },
  {
    usage: 'learn',
    describe: 'Learn a profile from a target, and print it',
    arguments: {},
    flags: { target, profile: learnedOver, 'budget-usd': learnBudget, format: textOrJson },
    examples: [
      [
        'learn --target https://api.example.com/v1 --budget-usd 0.05 > my-service.yaml',
        'Write a profile of your service',
      ],
    ],
    run: async values => {
      const { learnCommand } = await import('../learn/command.ts')
      const { demandedIn } = await import('./load-plan.ts')
      const learned = await learnCommand({
        target: text(values, 'target'),
        budgetUsd: text(values, 'budget-usd'),
        demanded: demandedIn(text(values, 'profile')),
        asJson: text(values, 'format') === 'json',
      })
      return learned ? exitCodes.pass : exitCodes.inconclusive
    },
  },
  {
    usage: 'profile [profile]',
    describe: 'Print the documented profile, or another one, with comments',
    arguments: { profile: { ...profile, describe: 'Profile (YAML or a shipped name); default: documented' } },
    flags: { format: textOrJson },
    examples: [['profile > my-service.yaml', 'Write every key with its documented value']],
    run: async values => (await import('./commands/profile.ts')).profileCommand(values),
  },
  {
    usage: 'report <run-dir>',
    describe: 'Render the report of a run',
    arguments: { 'run-dir': runDirectory },
    flags: { format },
    examples: [['report runs/last --format html > report.html', 'Write one page for a browser']],
    run: async values => (await import('./commands/findings.ts')).reportCommand(values),
  },
  {
    usage: 'findings <run-dir> [number]',
    describe: 'List the findings of a run, or show or repeat one',
    arguments: {
      'run-dir': runDirectory,
      number: { type: 'string', describe: 'The number of a finding, as in the list' },
    },
    flags: {
      repro: { type: 'boolean', describe: 'Write a script that sends its requests again', default: false },
      out: { type: 'string', describe: 'New file for the script (default: stdout)' },
      format: textOrJson,
    },
    examples: [
      ['findings runs/last', 'List the findings of a run'],
      ['findings runs/last 1 --repro --out again.sh', 'Write a script that repeats the first one'],
    ],
    run: async values => (await import('./commands/findings.ts')).findingsCommand(values),
  },
  {
    usage: 'shrink <run-dir> [number]',
    describe: 'Find the smallest scenario that gives a finding',
    arguments: {
      'run-dir': runDirectory,
      number: { type: 'string', describe: 'The number of a finding, as in the list of findings' },
    },
    flags: {
      target: { ...target, describe: 'Base URL of the service (default: as in the run)' },
      profile: { ...profile, describe: 'Profile (YAML or a shipped name); default: as in the run' },
      'budget-usd': { ...budget, describe: 'Maximum spend of all runs in USD, or unlimited' },
      'top-up': topUp,
      'max-time': { type: 'string', describe: 'Maximum time of all runs', default: '10m' },
      out: { type: 'string', describe: 'New folder for scenario, script and run (default: stdout)' },
      format: textOrJson,
    },
    examples: [
      [
        'shrink runs/last 1 --target http://127.0.0.1:8000/v1',
        'Print the smallest scenario that gives the first finding',
      ],
      ['shrink runs/last 1 --budget-usd 0.05 --out smallest', 'Write it, with a script of curl commands'],
    ],
    run: async values => (await import('./commands/shrink.ts')).shrinkCommand(values),
  },
  {
    usage: 'audit <run-dir>',
    describe: 'Judge the recorded observations of a run again',
    arguments: { 'run-dir': runDirectory },
    flags: { profile: { ...profile, describe: 'Profile to judge by, instead of the recorded one' }, format },
    examples: [['audit runs/last --profile my-service.yaml', 'Judge by another profile']],
    run: async values => (await import('./commands/audit.ts')).auditCommand(values),
  },
  {
    usage: 'compare <run-dirs..>',
    describe: 'Compare the last run with the baselines listed before it',
    arguments: { 'run-dirs': { ...runDirectory, array: true } },
    flags: {
      ...criteria,
      'fail-code': failCode,
      out: { type: 'string', describe: 'Directory for the comparison, in every format' },
      format: { ...format, choices: comparisonFormats },
    },
    examples: [['compare runs/monday runs/tuesday runs/today', 'Judge the last run by two baselines']],
    run: async values => (await import('./commands/compare.ts')).compareCommand(values),
  },
  {
    usage: 'ui [runs-dir]',
    describe: 'List, open and compare runs in a browser',
    arguments: { 'runs-dir': { type: 'string', describe: 'Directory of run directories (default: runs)' } },
    flags: { port: { type: 'number', describe: 'Port; 0 for a free one', default: 8401 } },
    examples: [['ui', 'Serve the runs of this folder']],
    run: async values => (await import('./commands/ui.ts')).uiCommand(values),
  },
  {
    usage: 'clauses [run-dirs..]',
    describe: 'List all clauses, or how runs covered them',
    arguments: { 'run-dirs': { ...runDirectory, array: true } },
    flags: { profile, format: textOrJson },
    run: async values => (await import('./commands/clauses.ts')).clausesCommand(values),
  },
  {
    usage: 'service',
    describe: 'Run the reference service',
    arguments: {},
    flags: {
      host: { type: 'string', describe: 'Address to listen on; 0.0.0.0 for all', default: '127.0.0.1' },
      port: { type: 'number', describe: 'Port; 0 for a free one', default: 8402 },
      seed: { type: 'number', describe: 'Random seed', default: 1 },
      lie: { type: 'string', describe: 'Lie to tell (a seeded violation); repeatable', array: true },
      'list-lies': { type: 'boolean', describe: 'List the lies and the clauses that they violate', default: false },
      format: { ...textOrJson, describe: 'Output format of --list-lies' },
      fault: {
        type: 'string',
        describe: 'Fault as status:probability, like 503:0.05; repeatable',
        array: true,
      },
      concurrency: { type: 'number', describe: 'Maximum concurrent requests (default: unlimited)' },
      'service-time': { type: 'string', describe: 'Processing time of a request, such as 20ms' },
      distribution: {
        type: 'string',
        describe: 'Distribution of the processing time',
        choices: ['constant', 'exponential'],
        default: 'constant',
      },
      'queue-length': {
        type: 'number',
        describe: 'Requests that may wait (default: --concurrency)',
      },
      'opening-balance': { type: 'string', describe: 'Opening balance of an account in USD', default: '10' },
      'opening-balance-diem': { type: 'string', describe: 'Opening balance of an account in DIEM', default: '0' },
      'wallet-usdc': { type: 'string', describe: 'Simulated USDC of each wallet on each chain', default: '100' },
      'wallet-credit': { type: 'string', describe: 'Opening credit of a wallet in USD', default: '0' },
      'settlement-time': { type: 'string', describe: 'How long a payment takes to settle', default: '200ms' },
      'payment-fault': {
        type: 'string',
        array: true,
        describe: 'Fault (slow, lost, down, reverted) like lost:0.1; repeatable',
      },
      'chat-upstream': { type: 'string', describe: 'OpenAI-compatible base URL to forward chat to' },
      'chat-upstream-model': {
        type: 'string',
        describe: 'Model there, for all or as model=name; repeatable',
        array: true,
      },
      'rpc-upstream': { type: 'string', describe: 'JSON-RPC node to forward to; may have {network}' },
      'upstream-timeout': { type: 'string', describe: 'Longest silence of an upstream', default: '2m' },
      ttft: { type: 'number', describe: 'Median time to first token in ms' },
      itl: { type: 'number', describe: 'Median inter-token latency in ms' },
      'rpc-latency': { type: 'number', describe: 'Median latency of an RPC request in ms' },
      slowdown: { type: 'number', describe: 'Slow every response down by this ratio (0.1 = 10 %)', default: 0 },
      profile,
    },
    examples: [
      ['service --port 8402 --lie failed-item-in-full', 'Start a service that violates one clause'],
      ['service --list-lies', 'List such violations'],
      [
        'service --chat-upstream http://127.0.0.1:11434/v1 --chat-upstream-model llama3.2 --rpc-upstream http://127.0.0.1:8545',
        'Meter a model server and a node; TURNPIKE_CHAT_UPSTREAM_KEY and TURNPIKE_RPC_UPSTREAM_KEY hold their keys',
      ],
    ],
    run: async values => (await import('./commands/service.ts')).serviceCommand(values),
  },
  {
    usage: 'mcp',
    describe: 'Serve tools to agents over stdio (MCP)',
    arguments: {},
    flags: {
      'budget-usd': { ...budget, describe: 'Maximum spend in USD of all runs together' },
      target: { ...target, describe: 'Target elsewhere that an agent may name; repeatable', array: true },
    },
    examples: [
      ['mcp', 'Let an agent test targets on this machine'],
      ['mcp --target https://api.example.com/v1 --budget-usd 2', 'Let it also test your service, for at most $2'],
    ],
    run: async values => (await import('./commands/mcp.ts')).mcpCommand(values),
  },
  {
    usage: 'calibrate',
    describe: 'Measure how precisely this machine times streams',
    arguments: {},
    flags: {
      streams: { type: 'number', describe: 'Concurrent streams', default: 1000 },
      rate,
      tokens: { type: 'number', describe: 'Tokens per stream', default: 200 },
      seconds: { type: 'number', describe: 'Seconds to measure, once all streams are open', default: 10 },
      'tokens-per-write': tokensPerWrite,
      'max-p99': { type: 'number', describe: 'Fail if the p99 delay of chunks exceeds this, in ms' },
      format: textOrJson,
    },
    run: async values => (await import('./commands/calibrate.ts')).calibrateCommand(values),
  },
  {
    usage: 'calibration-server',
    describe: 'Serve streams at an exact pace, each token timestamped',
    arguments: {},
    flags: {
      port: { type: 'number', describe: 'Port; 0 for a free one', default: 8403 },
      rate,
      'tokens-per-write': tokensPerWrite,
    },
    run: async values => (await import('./commands/calibrate.ts')).calibrationServerCommand(values),
  },
  {
    usage: 'schema',
    describe: 'Print the JSON Schema of scenarios or profiles, for editors',
    arguments: {},
    flags: {
      of: {
        type: 'string',
        describe: 'The files that the schema describes',
        choices: ['scenario', 'profile'],
        default: 'scenario',
      },
    },
    run: async values => {
      const schema =
        values.of === 'profile'
          ? (await import('../contract/profile.ts')).profileJsonSchema()
          : (await import('../scenario/schema.ts')).scenarioJsonSchema()
      ;(await import('./print.ts')).printJson(schema)
      return exitCodes.pass
    },
  },
  {
    usage: 'completion <shell>',
    describe: 'Print the completion script of bash or zsh',
    arguments: { shell: { type: 'string', describe: 'The shell: bash or zsh' } },
    flags: {},
    examples: [['completion bash > ~/.turnpike-completion', 'Write a file for ~/.bashrc to source']],
    run: async values => (await import('./commands/completion.ts')).completionCommand(values),
  },
  {
    usage: 'upgrade',
    describe: 'Print the command that installs the newest version',
    arguments: {},
    flags: {},
    run: async () => (await import('./commands/upgrade.ts')).upgradeCommand(),
  },
]
