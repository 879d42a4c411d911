import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { places, startEchoTarget } from '../support/echo-target.ts'
import { todays } from '../support/nightly.ts'
import { encodings, reveals } from '../support/secret-forms.ts'
import { freshDirectory, startTurnpike, turnpike } from '../support/turnpike.ts'

/** With characters that URLs, HTML, JSON and Base64 escape. */
const keys = ['sk-Hush93/alpha+Beta_77.x=', 'sk-Hush93/gamma&<Delta>"88']
const special = ['ref-Free93/epsilon+Zeta', 'ref-Zero93/eta+Theta_66']

const directory = freshDirectory()
const scenario = join(directory, 'echo.yaml')
const profile = join(directory, 'quick.yaml')
writeFileSync(profile, 'billing: { settleMs: 0 }\n')
writeFileSync(
  scenario,
  `
name: echo
callers: { count: 2 }
calls:
  chat: { kind: chat, stream: true, model-tier: XS, prompt-tokens: 5, max-completion-tokens: 5 }
  whole: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 5, max-completion-tokens: 5 }
  rpc: { kind: rpc, network: ethereum-mainnet }
stages:
  - { name: steady, duration: 600ms, shape: constant, rate: 90/s, exceed-tier: true, mix: { chat: 2, whole: 2, rpc: 1 } }
bounds: { drain: 300ms }
thresholds: [{ expect: violations == 0, why: The service documents each rule. }]
`,
)

/** The content of every file of a directory. */
const filesIn = (path: string): readonly (readonly [name: string, text: string])[] =>
  readdirSync(path).map(name => {
    const bytes = readFileSync(join(path, name))
    return [name, name.endsWith('.gz') ? gunzipSync(bytes).toString() : bytes.toString()]
  })

const random = () => 0.2
const encoders = encodings.map(
  ({ encode }) =>
    (key: string) =>
      encode(key, random),
)

/** Lower case, because a header name is in lower case, and some programs write Base64 so. */
const formsOf = (key: string): readonly string[] => [...new Set(encoders.map(encode => encode(key).toLowerCase()))]

function expectNone(secrets: readonly string[], texts: readonly (readonly [name: string, text: string])[]): void {
  for (const [name, text] of texts) {
    const lower = text.toLowerCase()
    for (const secret of secrets) {
      for (const form of formsOf(secret)) {
        const at = lower.indexOf(form)
        if (at >= 0) expect.fail(`${name} shows ${secret}: ${text.slice(Math.max(0, at - 60), at + form.length + 20)}`)
      }
      if (reveals(text, secret, 1)) expect.fail(`${secret} can be read in ${name}`)
      // Half a key is too much.
      const piece = secret.slice(3, 15).toLowerCase()
      const at = lower.indexOf(piece)
      if (at >= 0) expect.fail(`${name} shows a part of ${secret}: ${text.slice(Math.max(0, at - 60), at + 40)}`)
    }
  }
}

const formats = ['text', 'markdown', 'html', 'json', 'junit'] as const

describe.concurrent('a key that comes back', () => {
  for (const [index, place] of todays([...places.entries()], 4)) {
    const format = formats[index % formats.length] ?? 'text'
    test(`in ${place.name}, with the report as ${format}`, async ({ onTestFinished }) => {
      const target = await startEchoTarget(place, encoders)
      onTestFinished(target.close)
      const out = freshDirectory()
      const summary = join(out, '..', `summary-${target.port}.md`)
      const address = `http://127.0.0.1:${target.port}/api/v1`
      const log = index % 2 === 0 ? ['--log', 'json'] : []
      const flags = [
        '--target',
        address,
        '--out',
        out,
        '--format',
        format,
        '--profile',
        profile,
        '--no-warm-up',
        ...log,
      ]
      const run = startTurnpike(['run', scenario, ...flags, '--metrics', ':0'], {
        TURNPIKE_KEYS: keys.join(','),
        TURNPIKE_FREE_USER_KEY: special[0] ?? '',
        TURNPIKE_ZERO_BALANCE_KEY: special[1] ?? '',
        GITHUB_ACTIONS: 'true',
        GITHUB_STEP_SUMMARY: summary,
      })
      onTestFinished(() => void run.child.kill('SIGKILL'))
      const endpoint = /http:[^"\s]+\/metrics/.exec(await run.said(/http:[^"\s]+\/metrics/))?.[0] ?? ''
      let metrics = ''
      const scraping = setInterval(() => {
        fetch(endpoint)
          .then(response => response.text())
          .then(
            text => {
              metrics = text
            },
            () => clearInterval(scraping),
          )
      }, 150)
      const { code, stdout, stderr } = await run.ended
      clearInterval(scraping)
      expect([0, 1, 3], stderr).toContain(code)
      const files = filesIn(out)
      expect(files.length, stderr).toBeGreaterThan(6)
      expect(target.sent()).toBeGreaterThan(2)
      const shown = [
        ...files,
        ['stdout', stdout],
        ['stderr', stderr],
        ['metrics', metrics],
        ['summary', existsSync(summary) ? readFileSync(summary, 'utf8') : ''],
      ] as const
      expectNone([...keys, ...special], shown)
    })
  }
})

/** Keys that nobody named as such: the program sees them for the first time in a file or a flag. */
const lost = ['sk-Lost93aLpha4Beta5', 'sk-Lost93gAmma6dElta7']

const keyLists: Readonly<Record<string, string>> = {
  lines: `${lost.join('\n')}\n`,
  'one key': lost[0] ?? '',
  commas: lost.join(','),
  'keys of one account': lost.join(' '),
  pairs: lost.map(key => `${key}: ${key}`).join('\n'),
  'names and keys': lost.map((key, index) => `caller${index}: ${key}`).join('\n'),
  variables: `TURNPIKE_KEYS=${lost.join(',')}\n`,
  'an export': `export TURNPIKE_KEYS="${lost.join(',')}"\n`,
  JSON: JSON.stringify(lost),
  'a JSON object': JSON.stringify({ [lost[0] ?? '']: lost }),
  'a list': lost.map(key => `- ${key}\n`).join(''),
  'an alias': `*${lost[0]}`,
  'an anchor': `&${lost[0]} a: *${lost[1]}`,
  'a tag': `!${lost[0]} ${lost[1]}`,
  'quotes that do not end': `"${lost.join('\n')}`,
  'a colon too much': `name: ${lost[0]}: ${lost[1]}`,
  'a field': `name: echo\ncallers: ${lost[0]}\ncalls: { ${lost[1]}: ${lost[0]} }`,
  'brackets that do not end': `[${lost.join(',')}`,
}

describe.concurrent('a file of keys that is given by mistake', () => {
  for (const [index, [name, text]] of todays([...Object.entries(keyLists).entries()], 3)) {
    test(`with ${name} is not quoted, as a scenario, a profile, a recorded run or a baseline`, async () => {
      const folder = freshDirectory()
      const file = join(folder, 'keys.txt')
      writeFileSync(file, text)
      for (const each of ['plan.json', 'contract.json', 'report.json', 'slices.json', 'observations.ndjson.gz'])
        writeFileSync(join(folder, each), text)
      const recorded = join(folder, 'recorded.yaml')
      const stage = (run: string) =>
        `name: again\ncallers: { count: 1 }\ncalls: { m: { kind: models } }\nstages: [{ name: a, shape: recorded, run: ${run} }]\nthresholds: [{ expect: violations == 0, why: No. }]\n`
      writeFileSync(recorded, stage(folder))
      const commands = [
        ['run', file],
        ['plan', scenario, '--profile', file],
        ['plan', recorded],
        ['run', scenario, '--baseline', folder, '--no-warm-up'],
        ['compare', folder, folder],
        ['report', folder],
        ['report', file],
        ['audit', folder],
      ]
      const picked = commands.filter(
        (_, position) => position === 0 || position === 1 + (index % (commands.length - 1)),
      )
      for (const args of picked) {
        const { code, stdout, stderr } = await turnpike(args, {})
        expect(code, `${args[0]}: ${stderr}`).toBe(2)
        expectNone(lost, [[args.join(' '), stdout + stderr]])
      }
    })
  }
})

describe.concurrent('a key in the wrong place', () => {
  const [key = ''] = keys
  const environment = { TURNPIKE_KEYS: keys.join(',') }
  const base = readFileSync(scenario, 'utf8')
  const fileWith = (text: string) => {
    const file = join(freshDirectory(), 'wrong.yaml')
    writeFileSync(file, text)
    return file
  }
  const target = ['--target', 'http://127.0.0.1:9/api/v1']
  const wrong: Readonly<Record<string, () => readonly string[]>> = {
    'a model of the scenario': () => ['run', fileWith(base.replace('model-tier: XS', `model: "${key}"`)), ...target],
    'the name of a stage': () => ['run', fileWith(base.replace('name: steady', `name: "${key}"`)), ...target],
    'a reason of a threshold': () => ['plan', fileWith(base.replace('documents each rule', `knows '${key}'`))],
    'a reason, encoded': () => [
      ...['plan', fileWith(base.replace('documents each rule', `knows ${Buffer.from(`:${key}`).toString('base64')}`))],
    ],
    'the name of a profile': () => ['plan', scenario, '--profile', fileWith(`name: "x ${key}"\n`)],
    'a path of a profile': () => ['plan', scenario, '--profile', fileWith(`paths: { models: "/models/${key}" }\n`)],
    'a flag': () => ['plan', scenario, `--${key}`],
    'a flag of another type': () => ['run', scenario, '--budget-usd', key],
    'the name of a file': () => ['plan', lost[0] ?? ''],
    'keys-file': () => ['run', fileWith(base.replace('count: 2', `count: 2, keys-file: ${lost[0]}`)), ...target],
    'the password of a target': () => ['run', scenario, '--target', `http://user:${lost[0]}@127.0.0.1:9/api/v1`],
    'the password of no URL': () => ['run', scenario, '--target', `htp://user:${lost[0]}@127.0.0.1:9/api/v1`],
    'the password of a receiver': () => ['run', scenario, '--push-gateway', `http://user:${lost[0]}@127.0.0.1:9`],
    'the query of a target': () => ['run', scenario, '--target', `http://127.0.0.1:9/api/v1?key=${lost[0]}`],
  }
  for (const [name, args] of todays(Object.entries(wrong), 2)) {
    test(`${name}: exit code 2, nothing is written, and nothing shows it`, async () => {
      const out = join(freshDirectory(), 'out')
      const outFlags = args()[0] === 'run' ? ['--out', out] : []
      const { code, stdout, stderr } = await turnpike([...args(), ...outFlags], environment)
      expect(code, stderr).toBe(2)
      expect(existsSync(out)).toBe(false)
      expectNone([...keys, ...lost], [['output', stdout + stderr]])
    })
  }

  test('a key in the path of a target is masked everywhere, and requests are sent to the real path', async ({
    onTestFinished,
  }) => {
    const [place] = places.filter(each => each.name === 'an error message')
    if (place === undefined) return expect.fail('no such place')
    const echo = await startEchoTarget(place, [text => text])
    onTestFinished(echo.close)
    const out = freshDirectory()
    const pathKey = 'Node93pAth4key5Secret6'
    const flags = ['--target', `http://127.0.0.1:${echo.port}/v2/${pathKey}`, '--out', out, '--no-warm-up']
    const { stdout, stderr } = await turnpike(['run', scenario, '--profile', profile, ...flags], {
      TURNPIKE_KEYS: `${pathKey},${keys[1]}`,
    })
    expect(echo.paths().every(path => path.startsWith(`/v2/${pathKey}/`))).toBe(true)
    expect(echo.paths().length).toBeGreaterThan(10)
    const files = filesIn(out)
    expect(files.length, stderr).toBeGreaterThan(6)
    expectNone([pathKey], [...files, ['stdout', stdout], ['stderr', stderr]])
    const audit = await turnpike(['audit', out])
    expectNone([pathKey], [['audit', audit.stdout + audit.stderr]])
  })
})

test('keys that are plain words do not turn the words of a report into stars, and are noted', async () => {
  const out = freshDirectory()
  const flags = ['--out', out, '--profile', profile, '--no-warm-up']
  const environment = { TURNPIKE_FREE_USER_KEY: 'a', TURNPIKE_ZERO_BALANCE_KEY: 'test', TURNPIKE_OTHER_KEY: 'report' }
  const { stdout, stderr } = await turnpike(['run', scenario, ...flags], environment)
  expect(stdout + filesIn(out).join('')).not.toContain('***')
  expect(stderr).toContain('3 keys are short or a plain word')
})

describe.concurrent('the credentials of a receiver', () => {
  const receivers = [
    ['--push-gateway', 'TURNPIKE_PUSH_GATEWAY_CREDENTIALS'],
    ['--remote-write', 'TURNPIKE_REMOTE_WRITE_CREDENTIALS'],
    ['--otlp', 'TURNPIKE_OTLP_CREDENTIALS'],
  ] as const
  for (const [flag, variable] of todays(receivers, 3)) {
    for (const credentials of ['push93er:Hush+93/aLpha=x', 'tok-Hush93/beta+Gamma4']) {
      test(`${flag} with ${credentials.includes(':') ? 'a password' : 'a token'}: a receiver sends them back`, async ({
        onTestFinished,
      }) => {
        const [place] = places.filter(each => each.name === 'a page')
        if (place === undefined) return expect.fail('no such place')
        const receiver = await startEchoTarget(place, [
          text => text,
          text => Buffer.from(text, 'base64').toString(),
          text => encodeURIComponent(Buffer.from(text, 'base64').toString()),
        ])
        onTestFinished(receiver.close)
        const out = freshDirectory()
        const flags = ['--out', out, '--profile', profile, '--no-warm-up', flag, `http://127.0.0.1:${receiver.port}/w`]
        const { stdout, stderr } = await turnpike(['run', scenario, ...flags], { [variable]: credentials })
        expect(receiver.sent(), stderr).toBeGreaterThan(0)
        expect(stderr).toMatch(/status 400/)
        const password = credentials.slice(credentials.indexOf(':') + 1)
        expectNone([password, credentials], [...filesIn(out), ['stdout', stdout], ['stderr', stderr]])
      })
    }
  }

  test('headers for OpenTelemetry: receiver and target send them back', async ({ onTestFinished }) => {
    const [place] = places.filter(each => each.name === 'a page')
    if (place === undefined) return expect.fail('no such place')
    const secret = 'tok-Hush93/beta+Gamma4'
    const receiver = await startEchoTarget(place, [text => text])
    onTestFinished(receiver.close)
    const out = freshDirectory()
    const flags = [
      '--out',
      out,
      '--profile',
      profile,
      '--no-warm-up',
      '--traces',
      '--otlp',
      `http://127.0.0.1:${receiver.port}`,
    ]
    const OTEL_EXPORTER_OTLP_HEADERS = `authorization=Bearer%20${encodeURIComponent(secret)}`
    const { stdout, stderr } = await turnpike(['run', scenario, ...flags], { OTEL_EXPORTER_OTLP_HEADERS })
    expect(receiver.sent(), stderr).toBeGreaterThan(0)
    expect(stderr).toMatch(/status 400/)
    expectNone([secret, encodeURIComponent(secret)], [...filesIn(out), ['stdout', stdout], ['stderr', stderr]])
  })
})
