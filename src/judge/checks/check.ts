import type { CheckName } from '../../contract/clause.ts'
import type { Contract } from '../../contract/contract.ts'
import { quote } from '../../lib/format.ts'
import type { Observation, ObservationOf, ObservedResponse } from '../../observation/observation.ts'
import type { RequestDescriptor } from '../../observation/requests/request.ts'
import { is2xx, isJsonType } from '../../observation/response.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import type { Obstacle } from '../findings/obstacles.ts'

/** Judges a single observation, of any request or of one kind. */
export type Check<Name extends CheckName, Request extends RequestDescriptor = RequestDescriptor> = (
  observation: ObservationOf<Request>,
  contract: Contract,
  reporter: ClauseReporter<Name>,
) => void

/** Reports on these clauses, and possibly on others. */
export type Reporter<Clause extends string> = {
  readonly pass: (clause: Clause) => void
  readonly fail: (clause: Clause, message: string, requestIds: readonly number[]) => void
  readonly unjudged: (clause: Clause, obstacle: Obstacle) => void
}

/** Reports whether one observation passed a clause. `message` is called only if it failed. */
export type Expect<Clause extends string> = (clause: Clause, pass: boolean, message: () => string) => void

export const expectFor =
  <Clause extends string>(reporter: Reporter<Clause>, id: number): Expect<Clause> =>
  (clause, pass, message) => {
    if (pass) reporter.pass(clause)
    else reporter.fail(clause, message(), [id])
  }

/** Checks that a success has the one status that the document shows for it. All other checks go on as with a 200. */
export function checkStatus<Clause extends string>(
  clause: Clause,
  { status }: ObservedResponse,
  expect: Expect<Clause>,
): void {
  expect(clause, status === 200, () => `a success has status ${status}, expected 200`)
}

/** Many servers send JSON as text/plain, which contradicts neither. */
const typeOfJson = /json|^text\/plain/i

/** Checks that the type of a success is that of its body. A missing type violates its own clause. */
export function checkBodyType(
  { response, outcome }: Pick<Observation, 'response' | 'outcome'>,
  expect: Expect<'header.content-type.body'>,
): void {
  const type = response?.headers['content-type']?.trim()
  if (!type || response === null || outcome.kind !== 'answered' || !is2xx(response.status)) return
  const { body } = response
  const isJson = body.kind === 'json' && typeof body.value === 'object' && body.value !== null
  if (!isJson && body.kind !== 'text') return
  expect('header.content-type.body', isJson ? typeOfJson.test(type) : !isJsonType(type), () =>
    isJson
      ? `content-type is ${quote(type)} on JSON, expected application/json`
      : `content-type is ${quote(type)} on a body that is no JSON, expected its own type`,
  )
}
