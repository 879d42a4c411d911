import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { freshDirectory, turnpike } from '../../support/turnpike.ts'

test('audit refuses an incomplete recording, which would make balances seem wrong', async () => {
  const out = freshDirectory()
  await turnpike(['run', 'test/e2e/short.yaml', '--out', out, '--quiet'])
  const record = join(out, 'observations.ndjson.gz')
  appendFileSync(record, gzipSync('{"skipped":3}\n'))
  const audit = await turnpike(['audit', out])
  expect(audit.code).toBe(2)
  expect(audit.stderr).toContain(record)
  expect(audit.stderr).toContain('3 observations')
})
