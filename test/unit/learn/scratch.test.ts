import { test } from 'vitest'
import { learnFrom } from '../../support/learn-from.ts'

test('x', async () => {
  const l = await learnFrom()
  console.log(l.yaml, l.differences, l.replies.length, l.tookMs, l.spentPico, l.nothing)
  console.log(l.replies.map(r => `${r.call} ${r.what} ${r.status} ${r.why} ${r.wallMs}`).join('\n'))
})
