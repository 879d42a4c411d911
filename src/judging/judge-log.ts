import { hasHeader, type LogFooter, readLog } from '../observation/log.ts'
import { createJudgement } from './judgement.ts'
import type { Brief, Part } from './report-of.ts'

/** What the log of a worker says, judged again: nothing where there is none. `leftOut`: so many observations are not in it. */
export async function judgeLog({ plan, contract, head }: Brief, file: string): Promise<Part & { leftOut: number }> {
  const judgement = createJudgement(plan, contract, head)
  let end: LogFooter | null = null
  let leftOut = 0
  for await (const line of hasHeader(file) ? readLog(file) : []) {
    if (line.kind === 'observation') judgement.add(line.observation)
    if (line.kind === 'end') end = line.end
    if (line.kind === 'gap') leftOut += line.leftOut
  }
  return { facts: judgement.conclude(end !== null), end, leftOut }
}

/** Of a worker who has left nothing behind. */
export const nothingOf = ({ plan, contract, head }: Brief): Part => ({
  facts: createJudgement(plan, contract, head).conclude(false),
  end: null,
})
