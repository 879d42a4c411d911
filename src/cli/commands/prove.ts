import { UsageError } from '../../lib/usage-error.ts'
import { draftScenario } from '../../library/draft.ts'
import type { ProveProgress } from '../../library/options.ts'
import { defaultThreads, inlineRuns, threadedRuns } from '../../prove/mutant-threads.ts'
import { proveGate } from '../../prove/prove.ts'
import { renderProof, renderProofPage } from '../../prove/render-proof.ts'
import { exitCodes, integerFlag, number, text, type Values } from '../flags.ts'
import { draftInput } from '../load-plan.ts'
import { print, printJson, stdoutLayout, wantsJson } from '../print.ts'
import { progressBar } from '../progress-bar.ts'
import { ownSecrets } from '../secrets.ts'

const maxThreads = 64

export async function proveCommand(values: Values): Promise<number> {
  const minScore = scoreFlag(values)
  const threads =
    number(values, 'workers') === null ? defaultThreads() : integerFlag(values, 'workers', { min: 1, max: maxThreads })
  const input = draftInput(text(values, 'scenario') ?? '', values)
  const draft = await draftScenario(input.scenario, input.overrides, ownSecrets)
  const bar = values.progress === false ? null : progressBar()
  const show = ({ done, all, caught }: ProveProgress) =>
    bar?.show(done, all, `${done} of ${all} runs, ${caught} noticed`)
  const runs = threads === 1 ? await inlineRuns(draft) : threadedRuns(draft, input.overrides, threads)
  try {
    const proof = await proveGate(draft, runs, {
      ...{ minScore, sensitivity: values.sensitivity !== false, suggestions: values.suggestions !== false },
      ...(bar !== null && { onProgress: show }),
    })
    bar?.end()
    if (wantsJson(values)) printJson(proof)
    else if (text(values, 'format') === 'html') print(renderProofPage(proof), 'html')
    else print(renderProof(proof, stdoutLayout()), 'text')
    return exitCodes[proof.verdict]
  } finally {
    bar?.end()
    await runs.close()
  }
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
