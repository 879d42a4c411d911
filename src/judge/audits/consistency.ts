import { quote } from '../../lib/format.ts'
import type { Observation } from '../../observation/observation.ts'
import { is2xx, isFromGateway } from '../../observation/response.ts'
import type { Say } from '../checks/findings.ts'
import type { Audit, AuditContext } from './audit.ts'

/** Clocks may differ, and a time zone be misread; a day is more than either. */
const dayMs = 86_400_000
const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const
/** A target can make up models without end. */
const maxModels = 1_000

/** What a header says beside other answers, and beside the clock of the run. */
export function createConsistencyAudit(
  { contract, startedAtMs }: AuditContext,
  say: Say<'coherence'>,
): Audit & { readonly names: () => ModelNames } {
  const idHeader = `${contract.headerPrefix}model-id`
  const nameHeader = `${contract.headerPrefix}model-name`
  const names = new Map<string, FirstName>()
  let stamp = ''
  let stampMs = Number.NaN
  /** The day of the week that the stamp should name; null where it names that one, or none. */
  let weekday: string | null = null

  return {
    add: observation => {
      const { answer } = observation
      if (answer === null || isFromGateway(answer, contract)) return
      judgeDate(observation, answer.headers.date ?? '')
      const id = answer.headers[idHeader]
      const name = answer.headers[nameHeader]
      if (id && name && is2xx(answer.status)) judgeName(id, name, observation.seq)
    },
    finish: () => {},
    names: () => names,
  }

  function judgeDate({ headersMs, seq }: Observation, date: string) {
    if (date !== stamp) {
      stamp = date
      stampMs = Date.parse(date)
      const right = weekdays[new Date(stampMs).getUTCDay()] ?? null
      weekday = /^[A-Z][a-z]{2},/.test(date) && !date.startsWith(`${right},`) ? right : null
    }
    // Whether it is a date at all is another clause's business.
    if (Number.isNaN(stampMs) || headersMs === null) return
    if (weekday !== null)
      return say.broken('header.date.instant', `date is ${quote(date)}, expected ${weekday} of that day`, [seq])
    const nowMs = startedAtMs + headersMs
    if (Math.abs(stampMs - nowMs) <= dayMs) return say.kept('header.date.instant')
    const because = `date is ${quote(date)} at ${new Date(nowMs).toUTCString()}, expected it within a day`
    say.broken('header.date.instant', because, [seq])
  }

  function judgeName(id: string, name: string, seq: number) {
    const first = names.get(id)
    if (first === undefined) {
      if (names.size < maxModels) names.set(id, { name, seq })
      return
    }
    checkSameName(id, first, { name, seq }, say)
  }
}

type FirstName = { readonly name: string; readonly seq: number }
/** What each model was called first, by its id. */
export type ModelNames = ReadonlyMap<string, FirstName>

/** Whether several workers saw the same name for each model. */
export function checkNamesAcrossWorkers(all: readonly ModelNames[], say: Say<'coherence'>): void {
  const firsts = new Map<string, FirstName>()
  for (const [id, named] of all.flatMap(names => [...names]).toSorted(([, a], [, b]) => a.seq - b.seq)) {
    const first = firsts.get(id)
    if (first === undefined) firsts.set(id, named)
    else checkSameName(id, first, named, say)
  }
}

function checkSameName(id: string, first: FirstName, { name, seq }: FirstName, say: Say<'coherence'>): void {
  if (first.name === name) {
    say.kept('header.model-name.stable')
    return
  }
  const because = `${id} is called ${quote(name)}, and was called ${quote(first.name)} before, expected one name`
  say.broken('header.model-name.stable', because, [first.seq, seq])
}
