import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { todays } from '../support/nightly.ts'
import { crash, shell } from '../support/shell.ts'
import { type Started, startForTest, startTurnpike } from '../support/turnpike.ts'

const short = 'turnpike run $ROOT/test/e2e/short.yaml'
const run = `${short} --target $TARGET --quiet`

let service: Started
let target = ''
beforeAll(async () => {
  service = startTurnpike(['service', '--port', '0'])
  target = await service.said(/http:\S+\/api\/v1/)
})
afterAll(() => void service.child.kill('SIGKILL'))

type Case = {
  readonly title: string
  readonly script: string
  readonly code: number
  readonly stdout?: RegExp
  readonly stderr?: RegExp
}

const verdict = /^PASS {2}short/
const passes = (title: string, script: string, stderr = /^/): Case => ({
  title,
  script,
  code: 0,
  stdout: verdict,
  stderr,
})
const silent = (title: string, script: string, code: number, stderr = /^/): Case => ({ title, script, code, stderr })

/** The verdict keeps its exit code, and is shown where that is possible. */
const unwritten: readonly Case[] = [
  silent(
    'a full stdout',
    `${run} --out o > /dev/full`,
    0,
    /Turnpike could not write all of its output to stdout: ENOSPC: no space/,
  ),
  passes('a full stderr', `${run} --out o 2> /dev/full`),
  passes('a full stderr with progress', `${short} --target $TARGET --out o 2> /dev/full`),
  passes('a full stderr with JSON lines', `${short} --target $TARGET --out o --log json 2> /dev/full`),
  silent('a closed stdout', `${run} --out o >&-`, 0),
  passes('a closed stderr', `${run} --out o 2>&-`),
  silent('both closed', `${run} --out o >&- 2>&-`, 0),
  silent('a reader that leaves', `${run} --out o | head -c 1 >/dev/null; exit \${PIPESTATUS[0]}`, 0),
  passes('a reader of stderr that leaves', `${short} --target $TARGET --out o 2> >(head -c 1 >/dev/null)`),
  passes('no stdin', `${run} --out o <&-`),
  passes(
    'files that cannot be long enough',
    // In blocks of a KiB: the contract is shorter, and the page is not.
    `ulimit -f 40; ${run} --out o`,
    /could not write o\/\S+ and \d more files?: EFBIG/,
  ),
  passes(
    'a run directory that goes away',
    `(until test -s o/observations.ndjson.gz; do sleep 0.05; done; rm -r o) & ${run} --out o; code=$?; wait; exit $code`,
    /could not write o\/\S+ and \d more files: ENOENT/,
  ),
  passes(
    'a summary of GitHub that is full',
    `GITHUB_STEP_SUMMARY=/dev/full ${run} --out o`,
    /summary \/dev\/full: ENOSPC/,
  ),
  passes(
    'a summary of GitHub that nobody reads',
    `mkfifo s; GITHUB_STEP_SUMMARY=s ${run} --out o`,
    /step summary s: ENXIO/,
  ),
  passes(
    'a summary of GitHub below a file',
    `touch s; GITHUB_STEP_SUMMARY=s/x ${run} --out o`,
    /step summary s\/x: ENOTDIR/,
  ),
  passes('HOME and TMPDIR', `unset HOME; TMPDIR=/nonexistent ${run} --out o`),
  silent(
    'a full stdout, also if it is inconclusive',
    `${short} --target http://127.0.0.1:9/api/v1 --quiet --out o > /dev/full`,
    3,
    /stdout: ENOSPC/,
  ),
  silent('a full stdout of the schema', 'turnpike schema > /dev/full', 0, /stdout: ENOSPC/),
  silent('a full stdout of the clauses', 'turnpike clauses > /dev/full', 0, /stdout: ENOSPC/),
  silent('a full stdout of a plan', 'turnpike plan $ROOT/test/e2e/short.yaml > /dev/full', 0, /stdout: ENOSPC/),
  silent('a mistake that cannot be shown', 'turnpike run nothing.yaml 2> /dev/full', 2),
  silent('a help that nobody reads', `turnpike --help | true; exit \${PIPESTATUS[0]}`, 0),
]

const outs: readonly (readonly [string, string, RegExp])[] = [
  ['a device', '/dev/null', /^\/dev\/null: got a file/],
  ['a new directory in /proc', '/proc/x', /^\/proc\/x: got ENOENT/],
  ['a directory of /proc', '/proc/self/fd', /not empty/],
  ['a new directory in /sys', '/sys/x', /^\/sys\/x: got (no permission to write|a read-only disk)/],
  ['a file', '$ROOT/package.json', /got a file/],
  ['a path below a file', '$ROOT/package.json/x', /got a path below a file/],
  ['a directory that is not empty', '$ROOT/test', /got a directory that is not empty, expected a new or empty/],
  ['a link to nowhere', 'link', /^link: got a file/],
  ['a name that is too long', 'x'.repeat(300), /got ENAMETOOLONG/],
]

/** One sentence and exit code 2, before anything is sent. */
const refused: readonly Case[] = [
  ...outs.map(([title, out, stderr]) =>
    silent(
      `--out is ${title}`,
      `ln -s nowhere link; ${short} --target http://127.0.0.1:9/api/v1 --quiet --out ${out}`,
      2,
      stderr,
    ),
  ),
  silent(
    'the working directory is gone',
    'mkdir d; cd d; rmdir ../d; turnpike run x.yaml',
    2,
    /^working directory: got a directory that was removed, expected one that exists\n/,
  ),
  silent(
    'it may open few files',
    `ulimit -n 30; ${run} --out o`,
    2,
    /^open files: got EMFILE, expected a higher limit \(ulimit -n\)\n/,
  ),
  silent(
    'a new project has a place that nobody can write to',
    'turnpike init /proc/x',
    2,
    /^\/proc\/x\/turnpike\/scenario\.yaml: got ENOENT: no such file or directory, expected a file that can be created\n/,
  ),
  silent(
    'imported traffic has such a place',
    `echo '{"timestamp": 1, "input_length": 8, "output_length": 1}' > t.jsonl; turnpike import t.jsonl --out /proc/x.yaml`,
    2,
    /^\/proc\/x\.yaml: got ENOENT: no such file or directory, expected files that can be written\n/,
  ),
  silent('the default directory cannot be created', `touch runs; ${run}`, 2, /got (a file|a path below a file)/),
  silent(
    'a comparison goes into a file',
    `${run} --out a >/dev/null; ${run} --out b >/dev/null; touch c; turnpike compare a b --out c`,
    2,
    /^c: got a file/,
  ),
]

describe.concurrent('the verdict does not need', () => {
  test.for(todays(unwritten, 4))('$title', async ({ script, code, stdout = /^/, stderr = /^/ }) => {
    const ended = await shell(script, target)
    expect(ended.stderr).not.toMatch(crash)
    expect(ended.stderr).toMatch(stderr)
    expect(ended.stdout).toMatch(stdout)
    expect(ended.code).toBe(code)
  })
})

describe.concurrent('nothing is sent, and one sentence says why, if', () => {
  test.for(todays(refused, 4))('$title', async ({ script, code, stderr = /^/ }) => {
    const ended = await shell(script, target)
    expect(ended.stderr).not.toMatch(crash)
    expect(ended.stderr).toMatch(stderr)
    expect(ended.stderr.trim().split('\n')).toHaveLength(1)
    expect(ended.stdout).toBe('')
    expect(ended.code).toBe(code)
  })
})

test.concurrent('a profile that can be read once only is refused, and so is its service', async () => {
  const { code, stderr } = await shell(`${short} --quiet --out o --profile <(echo 'name: p')`)
  expect(stderr).toMatch(
    /\nturnpike service: got exit code 2 before it was ready, expected a server that starts; its profile must be a file, not a pipe\n$/,
  )
  expect(code).toBe(2)
})

test.concurrent('a bug has its own exit code, and asks for a report with its trace', async () => {
  const bug = `NODE_OPTIONS="--import=data:text/javascript,setTimeout(()=>{throw%20Error('a%20bug')},3000)"`
  const { code, stderr } = await shell(`${bug} turnpike service --port 0`)
  expect(stderr).toMatch(
    /\nTurnpike crashed\. This is a bug; please report it with the trace below\.\nError: a bug\n +at /,
  )
  expect(code).toBe(70)
})

describe.concurrent('a run directory', () => {
  test('is for its user only, with all that is in it', async () => {
    const { directory, code } = await shell(`umask 0; ${run}`, target)
    expect(code).toBe(0)
    const [name = ''] = readdirSync(join(directory, 'runs'))
    const path = join(directory, 'runs', name)
    for (const each of [join(directory, 'runs'), path]) expect(statSync(each).mode & 0o777).toBe(0o700)
    const files = readdirSync(path)
    expect(files).toHaveLength(11)
    for (const file of files) expect(statSync(join(path, file)).mode & 0o777, file).toBe(0o600)
  })

  test('does not remain after a mistake', async () => {
    const { directory, code } = await shell(`${run} --metrics 192.0.2.1:1 --out o/p`, target)
    expect(code).toBe(2)
    expect(readdirSync(directory)).toEqual([])
  })

  test('replaces links that appear in it, and does not follow them', async () => {
    const plant = 'for f in report.json report.txt; do ln -s $DIR/victim o/$f; ln -s $DIR/victim o/$f.new; done'
    const { directory, code } = await shell(
      `echo mine > victim; (until test -s o/plan.json; do sleep 0.02; done; ${plant}) & ${run} --out o; code=$?; wait; exit $code`,
      target,
    )
    expect(code).toBe(0)
    expect(readFileSync(join(directory, 'victim'), 'utf8')).toBe('mine\n')
    expect(lstatSync(join(directory, 'o', 'report.json')).isFile()).toBe(true)
  })
})

describe.concurrent('a signal', () => {
  test.for(['SIGHUP', 'SIGTERM', 'SIGINT'] as const)('%s ends a run with its report', async (signal, context) => {
    const { directory } = await shell('true')
    const out = join(directory, 'o')
    const started = startForTest(['run', 'test/e2e/long.yaml', '--out', out], context.onTestFinished)
    await started.said(/sent=\d{3}/)
    started.child.kill(signal)
    const { code, stdout } = await started.ended
    expect(code).toBe(130)
    expect(stdout).toMatch(/^INCONCLUSIVE {2}long/)
    expect(JSON.parse(readFileSync(join(out, 'report.json'), 'utf8')).run.ended).toBe('interrupted')
  })

  test('of a terminal that closes reaches all processes, and the run still ends in order', async () => {
    const { directory, stdout, stderr } = await shell(
      `set -m; turnpike run $ROOT/test/e2e/long.yaml --out o > o.txt 2> e.txt & p=$!
       until grep -q 'sent=[0-9][0-9][0-9]' e.txt; do sleep 0.1; done
       kill -HUP -- -$p; until test -s o/report.json; do sleep 0.1; done; cat o.txt; cat e.txt >&2`,
    )
    expect(stderr).not.toMatch(crash)
    expect(stdout).toMatch(/^INCONCLUSIVE {2}long/)
    const { run: ended, load } = JSON.parse(readFileSync(join(directory, 'o', 'report.json'), 'utf8'))
    expect([ended.ended, load.failed]).toEqual(['interrupted', 0])
  })
})
