import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { curlCommand } from '../../../src/run/curl.ts'

const request = {
  method: 'POST',
  path: '/chat/completions',
  headers: { 'content-type': 'application/json', authorization: 'Bearer $TURNPIKE_KEY' },
  body: '{"a":"it\'s $HOME, `id` and \\"x\\" \\\\ ! # 界"}',
}

/** The arguments that a shell passes to curl. */
function argumentsOf(command: string | null): readonly string[] {
  const script = `curl() { for each in "$@"; do printf '%s\\0' "$each"; done; }\n${command}`
  const environment = { TURNPIKE_KEY: 'a "key" \'of $mine', PATH: process.env.PATH ?? '' }
  return execFileSync('sh', ['-c', script], { env: environment }).toString().split('\0').slice(0, -1)
}

test('a shell reads the command as the original request, with the key of its environment', () => {
  expect(argumentsOf(curlCommand('http://127.0.0.1:80/api/v1', request))).toEqual([
    ...['-sS', '-i', '-N', '-X', 'POST', 'http://127.0.0.1:80/api/v1/chat/completions'],
    ...['-H', 'content-type: application/json', '-H', 'authorization: Bearer a "key" \'of $mine'],
    ...['--data-raw', request.body],
  ])
})

test('a GET has neither a method nor a body', () => {
  const models = { method: 'GET', path: '/models?a=1&b=2', headers: {}, body: null }
  expect(argumentsOf(curlCommand('https://x.test', models))).toEqual([
    '-sS',
    '-i',
    '-N',
    'https://x.test/models?a=1&b=2',
  ])
})

test('an empty header has the form that curl requires', () => {
  const empty = { ...request, headers: { 'idempotency-key': '' }, body: null }
  expect(argumentsOf(curlCommand('https://x.test', empty))).toContain('idempotency-key;')
})

test('a command that is too long is null', () => {
  expect(curlCommand('https://x.test', { ...request, body: 'x'.repeat(30_000) })).toBeNull()
})
