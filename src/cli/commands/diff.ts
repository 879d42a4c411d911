import { basename, join } from 'node:path'
import type { SideVerdict } from '../../diff/compare-numbers.ts'
import { parseMargins } from '../../diff/margins.ts'
import { renderDiff, renderDiffPage } from '../../diff/render-diff.ts'
import { runDiff } from '../../diff/run-diff.ts'
import { diffLoad } from '../../diff/shadow.ts'
import { oneLine } from '../../lib/visible.ts'
import { scenarioAt } from '../../library/draft.ts'
import type { DiffProgress } from '../../library/options.ts'
import { newRunId } from '../../library/run-draft.ts'
import { startThread } from '../../run/threads.ts'
import { exitCodes, listFlag, text, type Values } from '../flags.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { overridesIn } from '../load-plan.ts'
import { print, printJson, showUnwritten, stdoutLayout, wantsJson } from '../print.ts'
import { ownSecrets } from '../secrets.ts'

const codes: Readonly<Record<SideVerdict, number>> = {
  'no-worse': exitCodes.pass,
  worse: exitCodes.fail,
  'cannot-tell': exitCodes.inconclusive,
}

/** Sends the same requests to two targets, and shows whether the second is worse. */
export async function diffCommand(values: Values): Promise<number> {
  const margins = parseMargins(listFlag(values, 'margin'))
  const [named, source] = [text(values, 'scenario'), text(values, 'shadow')]
  const overrides = overridesIn(values)
  const load = diffLoad(named === null ? null : scenarioAt(named), source, values.text === true)
  const name = basename(source ?? named ?? '').replace(/\.[a-z]+$/, '')
  const directory = text(values, 'out') ?? join('runs', `${newRunId()}-${name}-diff`)
  const interrupts = listenForInterrupts()
  const isQuiet = values.quiet === true
  const say = (line: string) => {
    if (!isQuiet) process.stderr.write(`${oneLine(line)}\n`)
  }
  interrupts.onFirst(() => say('Interrupted. Waiting for requests in flight; press ^C again to quit now.'))
  try {
    const diff = await runDiff(
      {
        ...{ load, overrides, margins, directory, variables: process.env },
        targets: [text(values, 'old') ?? '', text(values, 'new') ?? ''],
        warmUp: values['warm-up'] !== false,
      },
      {
        ...{ stop: interrupts.stop, quit: interrupts.quit, startWorker: startThread, secrets: ownSecrets, log: say },
        ...{ unwritten: showUnwritten, onProgress: isQuiet ? () => {} : progressLines() },
      },
    )
    if (wantsJson(values)) printJson(diff)
    else if (text(values, 'format') === 'html') print(renderDiffPage(diff), 'html')
    else print(renderDiff(diff, stdoutLayout()), 'text')
    say(`Both runs and diff.json are in ${directory}.`)
    return interrupts.stop.aborted ? exitCodes.interrupted : codes[diff.verdict]
  } finally {
    interrupts.dispose()
  }
}

const everyMs = 10_000

/** A line about both sides now and then. */
function progressLines(): (progress: DiffProgress) => void {
  let nextMs = everyMs
  return ({ old, new: fresh }) => {
    if (fresh.elapsedMs < nextMs) return
    nextMs = fresh.elapsedMs + everyMs
    const side = ({ sent, failed, violations }: DiffProgress['old']) =>
      `${sent} sent, ${failed} failed, ${violations.length} violated`
    const seconds = (ms: number) => Math.round(ms / 1000)
    const time = `${seconds(fresh.elapsedMs)} of ${seconds(fresh.totalMs)} s`
    process.stderr.write(`${time}, stage ${oneLine(fresh.stage)}. OLD: ${side(old)}. NEW: ${side(fresh)}.\n`)
  }
}
