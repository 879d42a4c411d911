import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { todays } from '../support/nightly.ts'
import { crash, shell } from '../support/shell.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'

/** A recorded run, and one more. */
const recorded = mkdtempSync(join(tmpdir(), 'turnpike-test-'))
beforeAll(async () => {
  for (const name of ['a', 'b']) {
    const { code } = await turnpike(['run', 'test/e2e/short.yaml', '--quiet', '--out', join(recorded, name)])
    expect(code).toBe(0)
  }
})

/** Kinds of files that are no text of a sensible length. The script makes `x`. */
const kinds = [
  ['/dev/zero', 'ln -s /dev/zero x', /got binary data/],
  ['/dev/urandom', 'ln -s /dev/urandom x', /got binary data/],
  ['a directory', 'mkdir x', /got a directory/],
  ['a pipe without a writer', 'mkfifo x', /got a pipe without an end for 2 s/],
  ['a pipe that stays open', 'mkfifo x; (sleep 9 > x) 2> /dev/null > /dev/null &', /got a pipe without an end for 2 s/],
  ['a pipe that is never empty', 'mkfifo x; (yes > x) 2> /dev/null > /dev/null &', /got more than \d+ bytes/],
  ['2 GB of nothing', 'truncate -s 2G x', /got 2147483648 bytes, more than \d+/],
  ['binary', 'head -c 5000 /bin/bash > x', /got binary data/],
  ['UTF-16', "printf '\\377\\376n\\000a\\000' > x", /got UTF-16, as ">" of Windows PowerShell 5 writes it/],
  ['not UTF-8', `printf 'a: \\xff\\xfe' > x`, /got bytes that are not UTF-8/],
  ['absent', 'true', /got (no such file|a directory without a run|a run without a report)/],
  ['a link to itself', 'ln -s x x', /got (ELOOP|no such file)/],
  ['a socket', `perl -MSocket -e 'socket(S,PF_UNIX,SOCK_STREAM,0);bind(S,sockaddr_un("x"))'`, /got ENXIO/],
] as const

/** Where such a file is given. */
const places = [
  ['a scenario', 'turnpike run ./x'],
  ['a profile', 'turnpike plan $ROOT/test/e2e/short.yaml --profile ./x'],
  [
    'a keys file',
    'sed "s#count:#keys-file: x, count:#" $ROOT/test/e2e/short.yaml > s.yaml; turnpike run s.yaml --target http://127.0.0.1:9/api/v1',
  ],
  ['a plan', 'rm -rf a/plan.json; mv x a/plan.json 2>/dev/null; turnpike audit a'],
  ['a report', 'rm -rf a/report.json; mv x a/report.json 2>/dev/null; turnpike report a'],
  ['the slices of a baseline', 'rm -rf a/slices.json; mv x a/slices.json 2>/dev/null; turnpike compare a b'],
] as const

/** One sentence about the file and exit code 2, within seconds of the processor and with little memory. */
async function expectRefused(script: string, message: RegExp): Promise<void> {
  const directory = freshDirectory()
  cpSync(recorded, directory, { recursive: true })
  const { code, stdout, stderr } = await shell(
    `cd ${directory}; export NODE_OPTIONS=--max-old-space-size=512; ulimit -t 20; ${script}`,
  )
  expect(stderr).not.toMatch(crash)
  expect(stderr).toMatch(message)
  expect(stderr.trim().split('\n').length).toBeLessThanOrEqual(21)
  expect(stdout).toBe('')
  expect(code).toBe(2)
}

describe.concurrent.each(places)('%s is refused that is', (_, script) => {
  // Files of our own share one function.
  const given = script.includes('mv x') ? kinds.filter((_, index) => index % 3 === 0) : kinds
  test.for(todays(given, Math.min(4, given.length)))('%s', ([, make, message]) =>
    expectRefused(`${make}\n${script}`, message),
  )
})

const yamls = [
  ['a merge of a number', 'name: x\\nslo:\\n  <<: 5\\n', /x:3:7: .* the value of << must be a mapping/],
  ['an alias in its own anchor', 'name: &a [*a]\\n', /x:1:11: .* inside of its own anchor/],
  ['an unknown alias', 'name: *b\\n', /x:1:7: .* no anchor &b/],
  ['a tag', 'name: !!js/function x\\n', /x:1:7: .*tag/],
  ['binary', 'name: !!binary AAAA\\n', /x:1:16: .* a tag is not allowed here/],
  ['a repeated key', 'name: a\\nname: b\\n', /x:2:1: got a second "name"/],
  ['tabs', 'name:\\n\\tx: 1\\n', /x:2:1: .* Tabs/],
  ['nothing', '', /x:1:1: got an empty file/],
  ['comments only', '# one\\n# two\\n', /x:1:1: got an empty file/],
  ['two documents', 'name: a\\n---\\nname: b\\n', /x:2:1: .* multiple documents/],
  ['a list', '- a\\n', /x:1:1: got a list, expected a mapping/],
  ['a color', 'name: "\\\\e[31mred"\\n', /x:1:7: got "\\u001b\[31mred"/],
  ['reversed text', 'name: "a\\u202eb"\\n', /x:1:7: got "a\\u202eb"/],
] as const

/** Scripts that write `x`. */
const longYamls = [
  ['100,000 brackets', `printf '%0100000d' 0 | tr 0 '[' > x`, /x:1:\d+: .* nested too deeply/],
  [
    'a billion laughs',
    `(echo 'k0: &k0 [1]'; for i in 1 2 3 4 5 6 7 8 9; do echo "k$i: &k$i [$(yes "*k$((i-1))" | head -20 | paste -sd,)]"; done) > x`,
    /x:2:\d+: .* aliases expand to more than \d+ nodes/,
  ],
  ['many keys', `seq -f 'k%.0f: 1' 60000 > x`, /x:1:1: .* more than 50000 nodes/],
  ['many wrong keys', `(echo 'seed: 1'; seq -f 'k%.0f: 1' 20000) > x`, /\nand \d+ more\n$/],
  ['more than 1 MiB', 'yes "# comment" | head -c 2000000 > x', /x: got 2000000 bytes, more than 1048576/],
] as const

describe.concurrent('a scenario is refused, with line and column, that has', () => {
  test.for(todays(yamls, 4))('%s', ([, text, message]) =>
    expectRefused(`printf -- '${text}' > x; turnpike run ./x`, message),
  )
  test.for(todays(longYamls, 4))('%s', ([, make, message]) => expectRefused(`${make}; turnpike run ./x`, message))
})

const log = 'a/observations.ndjson.gz'
const unpacked = `gzip -dc ${log} > l; rm ${log};`
const packed = `gzip -c l > ${log}; turnpike audit a`

/** What happens to a run directory, and what is said about it. */
const edits = [
  ['a plan that is cut', 'truncate -s 1000 a/plan.json; turnpike audit a', /plan\.json: got invalid JSON/],
  [
    'a plan of another version',
    `sed -i 's/"schema": 1/"schema": 9/' a/plan.json; turnpike audit a`,
    /plan\.json: schema: got 9, expected 1/,
  ],
  [
    'a plan without stages',
    `sed -i 's/"stages"/"stage"/' a/plan.json; turnpike audit a`,
    /plan\.json: got no "stages"/,
  ],
  [
    'a plan with a strange load',
    `sed -i 's/"model": "open"/"model": "shut"/' a/plan.json; turnpike audit a`,
    /plan\.json: stages\.\d\.load\.model/,
  ],
  [
    'a plan that is nested deeply',
    `printf '%0100000d' 0 | tr 0 '[' > a/plan.json; turnpike audit a`,
    /deeply nested JSON/,
  ],
  [
    'a plan that is null',
    'echo null > a/plan.json; turnpike audit a',
    /plan\.json: got an empty value, expected object/,
  ],
  [
    'a contract that is edited',
    `sed -i 's/"chat": {/"chat": 5, "chatt": {/' a/contract.json; turnpike audit a`,
    /contract\.json: .*chat/,
  ],
  ['a contract that is missing', 'rm a/contract.json; turnpike audit a', /contract\.json: got no such file/],
  [
    'a report of another version',
    `sed -i 's/"schema": 1/"schema": 2/' a/report.json; turnpike report a`,
    /report\.json: schema: got 2, expected 1/,
  ],
  [
    'a report with a text for a count',
    `sed -i 's/"sent": [0-9][0-9]*/"sent": "many"/' a/report.json; turnpike report a`,
    /report\.json: load\.sent: got "many", expected number/,
  ],
  ['a report that is cut', 'truncate -s 5000 a/report.json; turnpike report a', /report\.json: got invalid JSON/],
  ['slices that are cut', 'truncate -s 500 a/slices.json; turnpike compare a b', /slices\.json: got invalid JSON/],
  [
    'slices that are edited',
    `sed -i 's/"answered":[0-9]*/"answered":-7/' a/slices.json; turnpike compare a b`,
    /slices\.json: calls\.\d+\.slices\.\d+\.answered: got -7/,
  ],
  [
    'a baseline that is edited',
    `sed -i 's/"calls":/"call":/' a/slices.json; turnpike run $ROOT/test/e2e/short.yaml --baseline a --out c`,
    /slices\.json: got no "calls"/,
  ],
  [
    'a log of another version',
    `${unpacked} sed -i '1s/"turnpike":3/"turnpike":1/' l; ${packed}`,
    /line 1: got a log of format 1, expected a log of format 2 or 3/,
  ],
  ['a log without its header', `${unpacked} sed -i 1d l; ${packed}`, /line 1: got no header/],
  ['a log with a damaged line', `${unpacked} sed -i '5s/.*/{"id":/' l; ${packed}`, /line 5: got a damaged line/],
  [
    'a log with an edited line',
    `${unpacked} sed -i '2s/"outcome":{/"outcome":5,"was":{/' l; ${packed}`,
    /line 2: outcome: got 5/,
  ],
  [
    'a log without the shape of its rows',
    `${unpacked} sed -i '2d' l; ${packed}`,
    /line \d+: got .*shape .*, expected a log that Turnpike wrote/,
  ],
  [
    'a log with a strange line',
    `${unpacked} sed -i '5s/.*/{"x":1}/' l; ${packed}`,
    /line 5: got a line that is not an observation/,
  ],
  [
    'a log that is appended to another',
    `cat b/observations.ndjson.gz >> ${log}; turnpike audit a`,
    /got a second header/,
  ],
  [
    'a log with one line of 200 MB',
    `(${'gzip -dc a/observations.ndjson.gz | head -1'}; head -c 200000000 /dev/zero | tr '\\0' x) | gzip -1 > l; mv l ${log}; turnpike audit a`,
    /a line of more than \d+ characters/,
  ],
  [
    'a log with 200 million line feeds',
    `(gzip -dc ${log} | head -1; yes '' | head -c 200000000) | gzip -1 > l; mv l ${log}; turnpike audit a`,
    /line 2: got a damaged line/,
  ],
  [
    'a log that is a device',
    `rm ${log}; ln -s /dev/zero ${log}; turnpike audit a`,
    /got no regular file, expected a log file/,
  ],
  ['a log that is a pipe', `rm ${log}; mkfifo ${log}; turnpike audit a`, /got no regular file, expected a log file/],
  [
    'a log that is a directory',
    `rm ${log}; mkdir ${log}; turnpike audit a`,
    /got no regular file, expected a log file/,
  ],
  ['a log that is not compressed', `${unpacked} mv l ${log}; turnpike audit a`, /got no recorded observations/],
  ['an empty log', `: > ${log}; turnpike audit a`, /got no recorded observations/],
  ['no log', `rm ${log}; turnpike audit a`, /got no recorded observations/],
] as const

describe.concurrent('a run directory is refused that has', () => {
  test.for(todays(edits, 4))('%s', ([, script, message]) => expectRefused(script, message))
})

describe.concurrent('a run directory is read', () => {
  const audited = async (script: string) => {
    const directory = freshDirectory()
    cpSync(recorded, directory, { recursive: true })
    const { code, stderr, stdout } = await shell(`cd ${directory}; ${script}; turnpike audit a`)
    expect(stderr).not.toMatch(crash)
    return { code, stdout }
  }

  test('with a log that is cut, as after a kill', async () => {
    const { code, stdout } = await audited(`truncate -s 9000 ${log}`)
    expect(code).toBe(3)
    expect(stdout).toContain('the run was probably killed')
  })

  test('with something after the end of a log, but proves nothing', async () => {
    expect((await audited(`echo something >> ${log}`)).code).toBe(3)
  })
})
