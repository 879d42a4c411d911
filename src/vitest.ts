/** The matchers: `import 'turnpike/vitest'` adds them to `expect`. */

import { expect } from 'vitest'
import { describeValue } from './lib/usage-error.ts'
import type { Report } from './report/document.ts'
import { renderTextPage } from './report/render/text.ts'
import { findingBlocks } from './report/sections/findings.ts'
import { summarySection } from './report/sections/summary.ts'
import { thresholdsSection } from './report/sections/thresholds.ts'

const page = { columns: 100, color: false }

declare module 'vitest' {
  interface Matchers<T> {
    /**
     * The run passed. The message of a failure shows the reasons, and the findings with their evidence. An inconclusive run
     * proves nothing, so it fulfills neither `toPass()` nor `not.toPass()`. Also takes the promise of a report; await it
     * then.
     */
    readonly toPass: () => T extends PromiseLike<Report> ? Promise<void> : void
  }
}

expect.extend({ toPass: matchPass })

/** What a test runner gets of a matcher. */
type Match = { readonly pass: boolean; readonly message: () => string }

/** Whether a run passed, or the one whose report is awaited. An inconclusive run shows neither that nor the contrary. */
function matchPass(this: { readonly isNot: boolean }, received: unknown): Match | Promise<Match> {
  const { isNot } = this
  return isPromise(received) ? Promise.resolve(received).then(report => match(report, isNot)) : match(received, isNot)
}

function match(received: unknown, isNot: boolean): Match {
  if (!isReport(received))
    return {
      pass: isNot,
      message: () => `toPass: got ${describeValue(received)}, expected the report that run() of turnpike resolves with`,
    }
  const { verdict } = received
  const expected = isNot ? 'expected the run not to pass' : 'expected the run to pass'
  const got = verdict === 'inconclusive' ? 'it is inconclusive, which proves neither' : `it has the verdict ${verdict}`
  return {
    pass: verdict === 'inconclusive' ? isNot : verdict === 'pass',
    message: () => `${expected}, but ${got}\n\n${failureText(received)}`,
  }
}

/** The start of the text report: the verdict with its reasons, the findings with evidence, and the thresholds. */
function failureText(report: Report): string {
  const findings = findingBlocks(report)
  return renderTextPage(
    [
      ...summarySection(report),
      ...(findings.length === 0 ? [] : [{ kind: 'heading', id: 'findings', text: 'Findings' } as const, ...findings]),
      ...thresholdsSection(report),
    ],
    page,
  ).trimEnd()
}

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

const isReport = (value: unknown): value is Report =>
  typeof value === 'object' && value !== null && 'verdict' in value && 'reasons' in value && 'findings' in value
