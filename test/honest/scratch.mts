import { judgeAll, type Trial } from './judged.ts'
const [file, profile, json = '{}', settings = '{}'] = process.argv.slice(2)
const t0 = Date.now()
await judgeAll([{ changes: JSON.parse(json), scenario: file!, profile: profile as 'none', settings: JSON.parse(settings) }], 1, (_, j) => {
  console.log(j.name, j.code, j.verdict, `${Date.now() - t0} ms`)
  for (const f of j.findings) console.log('  ', f.slice(0, 600))
  if (j.findings.length === 0 && j.verdict !== 'pass') console.log(j.stderr.slice(0, 1500))
})
