import { isBegun, type LogEnd, readLog } from '../observation/log.ts'
import { createJudge } from './judge.ts'
import type { Brief, Part } from './report-of.ts'

/** What the log of a worker says, judged again: nothing where there is none. `leftOut`: so many observations are not in it. */
export async function judgeLog({ plan, contract, head }: Brief, file: string): Promise<Part & { leftOut: number }> {
  const judge = createJudge(plan, contract, head)
  let end: LogEnd | null = null
  let leftOut = 0
  for await (const line of isBegun(file) ? readLog(file) : []) {
    if (line.kind === 'observation') judge.add(line.observation)
    if (line.kind === 'end') end = line.end
    if (line.kind === 'gap') leftOut += line.leftOut
  }
  return { facts: judge.finish(end !== null), end, leftOut }
}

/** Of a worker who has left nothing behind. */
export const nothingOf = ({ plan, contract, head }: Brief): Part => ({
  facts: createJudge(plan, contract, head).finish(false),
  end: null,
})
