import type { ComparisonFormat, Format } from '../report/render/renderers.ts'
import type { Command, Flag } from './flags.ts'

/** Written here and not read from the renderers, so that `--help` need not load them. */
const formats: readonly Format[] = ['text', 'json', 'html', 'junit', 'markdown']

const comparisonFormats: readonly ComparisonFormat[] = ['text', 'json', 'html', 'markdown']

const scenario: Flag = { type: 'string', describe: 'A scenario file (YAML)' }
const runDirectory: Flag = { type: 'string', describe: 'The directory of a run' }
const profile: Flag = { type: 'string', describe: 'A profile (YAML), laid over the documented contract' }
const seed: Flag = { type: 'number', describe: 'Seed of all that is drawn, before that of the scenario' }
const target: Flag = { type: 'string', describe: 'Base address of the service under test' }
const budget: Flag = { type: 'string', describe: 'Dollars that may be spent at most, before those of the scenario' }
const format: Flag = { type: 'string', describe: 'How to render', choices: formats, default: 'text' }
const criteria = {
  'minimal-effect': { type: 'string', describe: 'A smaller change does not matter; default: 5%' },
  'noise-floor': { type: 'string', describe: 'How much runs of the same vary, at least; default: 2%' },
} as const satisfies Readonly<Record<string, Flag>>

const rate: Flag = { type: 'number', describe: 'Tokens of each stream in a second', default: 50 }
const atOnce: Flag = { type: 'number', describe: 'Tokens that are written at once', default: 1 }

/** Every command, in the order of `--help`. */
export const commands: readonly Command[] = [
  {
    usage: 'run <scenarios..>',
    describe: 'Carry out scenarios and give the verdict',
    arguments: { scenarios: { ...scenario, array: true } },
    flags: {
      target: { ...target, describe: `${target.describe}; without one, a reference service is started` },
      out: { type: 'string', describe: 'Directory of the run; default: runs/<time>-<scenario>' },
      seed,
      'budget-usd': budget,
      profile,
      workers: { type: 'number', describe: 'Threads that share the callers of a run', default: 1 },
      baseline: {
        type: 'string',
        describe: 'Directory of a run that this one must not be worse than; may be repeated',
        array: true,
      },
      ...criteria,
      metrics: { type: 'string', describe: 'Serve /metrics during the run, at [host]:port' },
      'remote-write': { type: 'string', describe: 'Address of a Prometheus that is sent all metrics during the run' },
      'push-gateway': { type: 'string', describe: 'Address of a Pushgateway that is given the verdict' },
      rehearsal: {
        type: 'boolean',
        describe: 'Carry out the calls for half a second in this process, so that none waits for code to be compiled',
        default: true,
      },
      progress: { type: 'boolean', describe: 'Show progress', default: true },
      quiet: { type: 'boolean', describe: 'Neither progress nor notes; warnings only', default: false },
      log: {
        type: 'string',
        describe: 'How progress and notes are written',
        choices: ['text', 'json'],
        default: 'text',
      },
      format,
    },
    run: async values => (await import('./run.ts')).runCommand(values),
  },
  {
    usage: 'plan <scenario>',
    describe: 'Show what a scenario would send, spend and prove',
    arguments: { scenario },
    flags: {
      target: { ...target, describe: `${target.describe}, which is asked for its limits; else nothing is sent` },
      seed,
      'budget-usd': budget,
      profile,
      format: { ...format, choices: ['text', 'json'] },
    },
    run: async values => (await import('./plan.ts')).planCommand(values),
  },
  {
    usage: 'report <run-dir>',
    describe: 'Render the report of a run again',
    arguments: { 'run-dir': runDirectory },
    flags: { format },
    run: async values => (await import('./report.ts')).reportCommand(values),
  },
  {
    usage: 'audit <run-dir>',
    describe: 'Judge a run again, from its recorded observations',
    arguments: { 'run-dir': runDirectory },
    flags: { profile: { ...profile, describe: 'Judge by this profile instead of the recorded one' }, format },
    run: async values => (await import('./audit.ts')).auditCommand(values),
  },
  {
    usage: 'compare <run-dirs..>',
    describe: 'Compare a run, the last one named, with its baselines before it',
    arguments: { 'run-dirs': { ...runDirectory, array: true } },
    flags: {
      ...criteria,
      out: { type: 'string', describe: 'Directory to write the comparison to, in every format' },
      format: { ...format, choices: comparisonFormats },
    },
    run: async values => (await import('./compare.ts')).compareCommand(values),
  },
  {
    usage: 'clauses [run-dirs..]',
    describe: 'List the clauses and who judges them, or what runs covered together',
    arguments: { 'run-dirs': { ...runDirectory, array: true } },
    flags: {},
    run: async values => (await import('./clauses.ts')).clausesCommand(values),
  },
  {
    usage: 'service',
    describe: 'Run the reference service',
    arguments: {},
    flags: {
      host: { type: 'string', describe: 'Address to listen at; 0.0.0.0 for all of them', default: '127.0.0.1' },
      port: { type: 'number', describe: 'Port; 0 for a free one', default: 8402 },
      seed: { type: 'number', describe: 'Seed of all that is drawn', default: 1 },
      lie: { type: 'string', describe: 'Tell this lie; may be repeated', array: true },
      'list-lies': { type: 'boolean', describe: 'List the lies and the clause that each breaks', default: false },
      fault: {
        type: 'string',
        describe: 'Fail so: status:probability, such as 503:0.05; may be repeated',
        array: true,
      },
      slots: { type: 'number', describe: 'Requests that are carried out at a time; default: all of them' },
      'service-time': { type: 'string', describe: 'How long a request takes its slot, such as 20ms' },
      spread: {
        type: 'string',
        describe: 'How that time varies',
        choices: ['constant', 'exponential'],
        default: 'constant',
      },
      queue: {
        type: 'number',
        describe: 'Requests that wait for a slot, beyond which is 503; default: as many as slots',
      },
      'opening-balance': { type: 'string', describe: 'USD that a new account starts with', default: '10' },
      'opening-balance-diem': { type: 'string', describe: 'DIEM that a new account starts with', default: '0' },
      ttft: { type: 'number', describe: 'Median time to the first token, in ms' },
      itl: { type: 'number', describe: 'Median time between tokens, in ms' },
      rpc: { type: 'number', describe: 'Median time of an RPC request, in ms' },
      slowdown: { type: 'number', describe: 'Take so much longer for everything: 0.1 is 10 %', default: 0 },
      profile,
    },
    run: async values => (await import('./service.ts')).serviceCommand(values),
  },
  {
    usage: 'certify',
    describe: 'Measure how late streams are stamped on this machine',
    arguments: {},
    flags: {
      streams: { type: 'number', describe: 'Streams that are open at the same time', default: 1000 },
      rate,
      tokens: { type: 'number', describe: 'Tokens of a stream', default: 200 },
      seconds: { type: 'number', describe: 'How long to watch, once so many streams are open', default: 10 },
      'at-once': atOnce,
      most: { type: 'number', describe: 'Fail where the p99 of all chunks is above so many ms' },
      format: { ...format, choices: ['text', 'json'] },
    },
    run: async values => (await import('./calibrate.ts')).certifyCommand(values),
  },
  {
    usage: 'metronome',
    describe: 'Serve streams at an exact pace, each token with its time',
    arguments: {},
    flags: { port: { type: 'number', describe: 'Port; 0 for a free one', default: 8403 }, rate, 'at-once': atOnce },
    run: async values => (await import('./calibration-server.ts')).metronomeCommand(values),
  },
  {
    usage: 'schema',
    describe: 'Print the JSON Schema of a scenario file, for editors',
    arguments: {},
    flags: {},
    run: async () => (await import('./schema.ts')).schemaCommand(),
  },
]
