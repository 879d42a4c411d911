import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { endOf } from '../support/shell.ts'
import { freshDirectory } from '../support/turnpike.ts'

const { steps } = parse(readFileSync('action.yml', 'utf8')).runs
const { run: script } = steps.find(({ name }: { name: string }) => name === 'Comment on the pull request')

describe('the comment on a pull request', () => {
  const bot = 'github-actions[bot]'
  const marker = '<!-- turnpike nightly -->'

  /** Runs the step alone, with a `gh` that has these comments, or may not write. */
  async function commented(
    comments: readonly object[],
    { event = { pull_request: { number: 12 } }, report = '## pass\n', may = true },
  ) {
    const folder = freshDirectory()
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    writeFileSync(join(folder, 'report.md'), report)
    writeFileSync(join(folder, 'event.json'), JSON.stringify(event))
    writeFileSync(join(folder, 'comments.json'), JSON.stringify(comments))
    writeFileSync(
      join(bin, 'gh'),
      `#!/usr/bin/env bash
echo "$*" >>'${folder}/gh.log'
case "$*" in
  *'--method GET'*) cat '${folder}/comments.json' ;;
  *) exit ${may ? 0 : 1} ;;
esac
`,
    )
    chmodSync(join(bin, 'gh'), 0o755)
    const child = spawn('bash', ['--noprofile', '--norc', '-e', '-o', 'pipefail', '-c', script], {
      env: {
        ...{ PATH: `${bin}:${process.env.PATH}`, GITHUB_REPOSITORY: 'acme/api', FOLDER: folder, RUN_DIRECTORY: folder },
        ...{ GITHUB_EVENT_PATH: join(folder, 'event.json'), SCENARIO: 'turnpike/nightly.yaml', GH_TOKEN: 'none' },
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const { code, stdout } = await endOf(child)
    const read = (name: string) => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : '')
    const asked = read('gh.log')
      .split('\n')
      .filter(line => /PATCH|POST/.test(line))
    return { code, stdout, asked, body: read('comment.md') }
  }

  test('is a new one, if only others have written such a line', async () => {
    const others = [
      { id: 1, user: { login: 'mallory' }, body: `${marker}\nmine` },
      { id: 2, user: { login: bot }, body: '<!-- turnpike smoke -->' },
      { id: 3, user: { login: bot }, body: `quoted: ${marker}` },
    ]
    const { code, asked, body } = await commented(others, {})
    expect([code, body]).toEqual([0, `${marker}\n## pass\n`])
    expect(asked).toEqual([expect.stringContaining('--method POST repos/acme/api/issues/12/comments -F body=@')])
  })

  test('replaces the one before', async () => {
    const { asked } = await commented([{ id: 7, user: { login: bot }, body: `${marker}\nold` }], {})
    expect(asked).toEqual([expect.stringContaining('--method PATCH repos/acme/api/issues/comments/7 -F body=@')])
  })

  test('fits into a comment, and begins with the verdict', async () => {
    const { body } = await commented([], { report: `## fail\n\n- reason\n\n### Findings\n${'x\n'.repeat(40_000)}` })
    expect(body).toBe(`${marker}\n## fail\n\n- reason\n\nThe whole report is in the summary of the job.\n`)
  })

  test('is left out without a pull request', async () => {
    const { code, asked, stdout } = await commented([], { event: { push: true } as never })
    expect([code, asked, stdout]).toEqual([0, [], 'No comment: the event is not a pull request.\n'])
  })

  test('that the token may not write is a warning', async () => {
    const { code, stdout } = await commented([], { may: false })
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^::warning title=Turnpike::No comment on pull request 12/),
    ])
  })
})
