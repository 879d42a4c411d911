import { type Contract, resourceOf } from '../contract/contract.ts'
import { quote } from '../lib/format.ts'
import { memoizeLast } from '../lib/memoize-last.ts'
import { isDecimal } from '../lib/numbers.ts'
import type { Observation } from '../observation/observation.ts'
import { authenticatedResponse, is2xx, isFromGateway } from '../observation/response.ts'
import type { Check } from './check.ts'
import { tariffOf } from './tariff.ts'

const httpDate =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/
/** How many digits the time has is open; hours and minutes are the least. */
const versionTime = /^\d{4}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])\.([01]\d|2[0-3])[0-5]\d([0-5]\d+)?$/

const isPresent = (value: string) => value !== ''
// These are the same in one answer after the other.
const isHttpDate = memoizeLast((value: string) => httpDate.test(value))
const isVersion = memoizeLast((value: string) => versionTime.test(value))
const isBalance = (value: string) => isDecimal(value.startsWith('-') ? value.slice(1) : value)

const isInference = ({ asked }: Observation, contract: Contract): boolean =>
  asked.kind === 'chat' || (asked.kind === 'resource' && resourceOf(contract, asked.resource)?.isInference === true)

const namesOf = memoizeLast(({ headerPrefix }: Contract) => ({
  version: `${headerPrefix}version`,
  modelId: `${headerPrefix}model-id`,
  modelName: `${headerPrefix}model-name`,
}))

/** The headers that every answer carries, and those that depend only on who asked and for what. */
export const checkHeaders: Check<'headers'> = (observation, contract, say) => {
  const { answer, seq } = observation
  if (answer === null || isFromGateway(answer, contract)) return
  const { headers, status } = answer
  const { version, modelId, modelName } = namesOf(contract)

  const expect = (
    clause: Parameters<typeof say.kept>[0],
    name: string,
    fits: (value: string) => boolean,
    what: string,
  ) => {
    const value = headers[name]
    if (value !== undefined && fits(value)) say.kept(clause)
    else say.broken(clause, `${name} is ${quote(value)} on a ${status}, expected ${what}`, [seq])
  }

  expect('header.content-type', 'content-type', isPresent, 'a media type')
  expect('header.date', 'date', isHttpDate, 'an HTTP date')
  expect('header.cf-ray', 'cf-ray', isPresent, 'a request id')
  expect('header.version', version, isPresent, 'a revision')
  if (headers[version]) expect('header.version.format', version, isVersion, 'YYYYMMDD.HHMMSS')
  if (is2xx(status) && isInference(observation, contract)) {
    expect('header.model-id', modelId, isPresent, 'the model used')
    expect('header.model-name', modelName, isPresent, 'a display name')
  }
  if (contract.billing.balanceHeaders && authenticatedResponse(observation) !== null) {
    const { usdHeader, diemHeader } = tariffOf(contract)
    expect('header.balance.usd', usdHeader, isBalance, 'a decimal string')
    expect('header.balance.diem', diemHeader, isBalance, 'a decimal string')
  }
}
