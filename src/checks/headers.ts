import { authenticatedAnswer } from '../observation/scope.ts'
import { type Check, quote } from './check.ts'

const httpDate =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/
const version = /^\d{8}\.\d{6}$/
const decimal = /^-?\d+(\.\d+)?$/

/** The headers that every answer carries, and those that depend only on who asked and for what. */
export const checkHeaders: Check<'headers'> = (observation, contract, say) => {
  const { answer, asked, seq } = observation
  if (answer === null) return
  const { headers, status } = answer
  const prefix = contract.headerPrefix

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
  const present = (value: string) => value !== ''

  expect('header.content-type', 'content-type', present, 'a media type')
  expect('header.date', 'date', value => httpDate.test(value), 'an HTTP date')
  expect('header.cf-ray', 'cf-ray', present, 'a request id')
  expect('header.version', `${prefix}version`, present, 'a revision')
  if (headers[`${prefix}version`]) {
    expect('header.version.format', `${prefix}version`, value => version.test(value), 'YYYYMMDD.HHMMSS')
  }
  if (asked.kind === 'chat' && status === 200) {
    expect('header.model-id', `${prefix}model-id`, present, 'the model used')
    expect('header.model-name', `${prefix}model-name`, present, 'a display name')
  }
  if (contract.billing.balanceHeaders && authenticatedAnswer(observation) !== null) {
    expect('header.balance.usd', `${prefix}balance-usd`, value => decimal.test(value), 'a decimal string')
    expect('header.balance.diem', `${prefix}balance-diem`, value => decimal.test(value), 'a decimal string')
  }
}
