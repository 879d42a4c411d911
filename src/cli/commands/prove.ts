import { UsageError } from '../../lib/usage-error.ts'
import { proveGate } from '../../prove/prove.ts'
import { renderProof } from '../../prove/render-proof.ts'
import { exitCodes, text, type Values } from '../flags.ts'
import { draftPlan } from '../load-plan.ts'
import { print, printJson, stdoutLayout, wantsJson } from '../print.ts'

export async function proveCommand(values: Values): Promise<number> {
  const minScore = scoreFlag(values)
  const draft = await draftPlan(text(values, 'scenario') ?? '', values)
  const proof = await proveGate(draft, minScore)
  if (wantsJson(values)) printJson(proof)
  else print(renderProof(proof, stdoutLayout()), 'text')
  return exitCodes[proof.verdict]
}

/** The share of lies that must be noticed; null if the flag was not given. Throws a UsageError. */
function scoreFlag(values: Values): number | null {
  const written = text(values, 'min-score')
  if (written === null) return null
  const [, percent] = /^(\d+(?:\.\d+)?) ?%$/.exec(written) ?? []
  const share = Number(percent) / 100
  if (share >= 0 && share <= 1) return share
  const hint = /^\d+(\.\d+)?$/.test(written) ? { hint: `did you mean "${written}%"?` } : {}
  const expected = 'a share from 0% to 100%, such as 80%'
  throw new UsageError({ where: '--min-score', got: JSON.stringify(written), expected, ...hint })
}
