import { describeValue } from '../lib/usage-error.ts'

export type TargetProblem = { readonly got: string; readonly expected: string; readonly hint?: string }

/** A base address without a slash at its end, or null after a complaint. A password in it is not repeated. */
export function checkTarget(target: string, complain: (problem: TargetProblem) => void): string | null {
  const expected = 'an http or https address such as http://127.0.0.1:8402/api/v1'
  const url = URL.canParse(target) ? new URL(target) : null
  if (url === null || !/^https?:$/.test(url.protocol)) {
    complain({ got: describeValue(target), expected })
    return null
  }
  if (url.username !== '' || url.password !== '') {
    complain({ got: 'an address with a user name or a password', expected, hint: 'set TURNPIKE_KEYS for secrets' })
    return null
  }
  if (url.search !== '' || url.hash !== '') {
    complain({ got: describeValue(target), expected: `${expected}, without ? and #` })
    return null
  }
  return url.href.replace(/\/+$/, '')
}
