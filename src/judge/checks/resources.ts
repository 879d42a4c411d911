import { type Resource, resourceOf } from '../../contract/contract.ts'
import { quote } from '../../lib/format.ts'
import { toObject } from '../../lib/json.ts'
import type { Answer, ResourceAsked } from '../../observation/observation.ts'
import { is2xx, isFromGateway } from '../../observation/response.ts'

import { type Check, expectFor } from './check.ts'
import type { Say } from './findings.ts'

/** Answers of what is neither chat nor RPC: whether it is there, and what its headers say of what it gave. */
export const checkResources: Check<'resource-answer'> = ({ answer, asked, seq }, contract, say) => {
  if (asked.kind !== 'resource' || answer === null || isFromGateway(answer, contract)) return
  const resource = resourceOf(contract, asked.resource)
  if (resource === null || unrelated.includes(answer.status)) return
  const { status } = answer
  const expect = expectFor(say, seq)

  // A job that was never queued is not found, either.
  if (resource.draws !== 'video-retrieve')
    expect(
      'resource.offered',
      !missing.includes(status),
      () => `${resource.method} ${resource.path} was answered with ${status}, expected ${asked.resource}`,
    )
  if (resource.draws === 'embedding' && isText(asked.body?.input) && status < 500 && !missing.includes(status))
    expect(
      'embeddings.input',
      is2xx(status),
      () => `an embedding of ${quote(asked.body?.input)} was answered with ${status}, expected a success`,
    )
  if (!is2xx(status)) return
  if (resource.isPaginated) checkPages(answer, asked, seq, say)
  checkDisposition(answer, resource, seq, say)
}

/** Who asked, how often, with what money: says nothing about the resource. */
const unrelated: readonly number[] = [401, 402, 403, 429]
/** Not there, gone, or not for this method. */
const missing: readonly number[] = [404, 405, 410, 501]

const isText = (input: unknown): boolean =>
  typeof input === 'string' || (Array.isArray(input) && input.every(each => typeof each === 'string'))

const disposition = /^(attachment|inline|form-data)\s*(;|$)/i

function checkDisposition({ headers, status }: Answer, { isDownload }: Resource, seq: number, say: Voice): void {
  const said = headers['content-disposition']
  if (said === undefined && !isDownload) return
  expectFor(say, seq)(
    'header.content-disposition',
    said !== undefined && disposition.test(said),
    () => `content-disposition is ${quote(said)} on a ${status}, expected attachment or inline`,
  )
}

type Voice = Say<'resource-answer'>

const pageHeaders = {
  limit: 'x-pagination-limit',
  page: 'x-pagination-page',
  total: 'x-pagination-total',
  totalPages: 'x-pagination-total-pages',
} as const
const wholeNumber = /^\d+$/

function checkPages(answer: Answer, asked: ResourceAsked, seq: number, say: Voice): void {
  const expect = expectFor(say, seq)
  const { headers } = answer
  const unfit = Object.values(pageHeaders).filter(name => !wholeNumber.test(headers[name] ?? ''))
  const got = () => unfit.map(name => `${name} is ${quote(headers[name])}`).join(', ')
  expect('header.pagination', unfit.length === 0, () => `${got()} on a list in pages, expected whole numbers`)
  if (unfit.length > 0) return
  const [limit, page, total, totalPages] = [
    Number(headers[pageHeaders.limit]),
    Number(headers[pageHeaders.page]),
    Number(headers[pageHeaders.total]),
    Number(headers[pageHeaders.totalPages]),
  ]

  // The number of a page after the last one is open.
  const wanted = asked.page === null ? 1 : asked.page <= totalPages ? asked.page : null
  const isRight = page >= 1 && (wanted === null || page === wanted)
  expect('header.pagination.page', isRight, () => `the page is said to be ${page}, expected ${wanted ?? 'one above 0'}`)

  const pages = limit === 0 ? 0 : Math.ceil(total / limit)
  expect(
    'header.pagination.total-pages',
    // A list without items may have no page, or an empty one.
    (limit > 0 && totalPages === pages) || (total === 0 && totalPages <= 1),
    () => `${total} items, ${limit} on a page, are said to be on ${totalPages} pages, expected ${pages}`,
  )

  const items = itemsOf(answer)
  if (items === null || !isRight) return
  const expected = Math.max(0, Math.min(limit, total - (page - 1) * limit))
  expect(
    'header.pagination.items',
    items === expected,
    () => `page ${page} of ${total} items, ${limit} on a page, has ${items} of them, expected ${expected}`,
  )
}

/** How many items a list has, wherever it keeps them; null where it keeps them elsewhere. */
function itemsOf({ body }: Answer): number | null {
  if (body.kind !== 'json') return null
  const list = Array.isArray(body.value) ? body.value : toObject(body.value)?.data
  return Array.isArray(list) ? list.length : null
}
