import { resourceOf } from '../../contract/contract.ts'
import { isAssumed } from '../../contract/sources.ts'
import { quote } from '../../lib/format.ts'
import { toObject } from '../../lib/json.ts'
import type { ObservedResponse } from '../../observation/observation.ts'
import type { ResourceDescriptor } from '../../observation/requests/resource.ts'
import { is2xx, isFromGateway, isMissing } from '../../observation/response.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import type { Obstacle } from '../findings/obstacles.ts'
import { mentionsModel } from './chat-request.ts'
import { type Check, checkBodyType, expectFor } from './check.ts'

/** Checks responses that are neither chat nor RPC: whether the resource exists, and its headers. */
export const checkResources: Check<'resources', ResourceDescriptor> = (
  { response, request, id, outcome },
  contract,
  reporter,
) => {
  if (response === null || isFromGateway(response, contract)) return
  const name = request.resource
  const resource = resourceOf(contract, name)
  if (resource === null || unrelated.includes(response.status)) return
  const { status } = response
  const expect = expectFor(reporter, id)

  // A job that was never queued is not found either, nor is a page after the last one.
  if (resource.draws !== 'video-retrieve' && (request.page ?? 1) === 1)
    expect(
      'resource.offered',
      !isMissing(status),
      () => `${resource.method} ${resource.path} got status ${status}, expected the resource ${name}`,
    )
  const isOfAssumedModel = isAssumed(contract, `resources.${name}.body`) && mentionsModel(response)
  const mayReject = status >= 500 || isMissing(status) || isOfAssumedModel
  if (resource.draws === 'embedding' && isText(request.body?.input) && !(mayReject && !is2xx(status)))
    expect(
      'embeddings.input',
      is2xx(status),
      () => `an embedding of ${quote(request.body?.input)} got status ${status}, expected a success`,
    )
  if (!is2xx(status)) return
  checkBodyType({ response, outcome }, expect)
  if (resource.isPaginated)
    if (isAssumed(contract, `resources.${name}.isPaginated`) && hasNoPage(response))
      reporter.unjudged('header.pagination', assumedPages)
    else checkPages(response, request, id, reporter)
  const isDownload = resource.isDownload && !isAssumed(contract, `resources.${name}.isDownload`)
  checkDisposition(response, isDownload, id, reporter)
}

export const assumedPath: Obstacle = {
  text: 'the document does not state its path, and the target has none there; name it in the profile as resources.<name>.path, or remove the resource with resources.<name>: null',
  clause: null,
}
const assumedPages: Obstacle = {
  text: 'the document does not state which lists have pages; name them in the profile as resources.<name>.isPaginated',
  clause: null,
}

/** Statuses about the caller, its rate or its balance, and not about the resource. */
const unrelated: readonly number[] = [401, 402, 403, 429]

const isText = (input: unknown): boolean =>
  typeof input === 'string' || (Array.isArray(input) && input.every(each => typeof each === 'string'))

const disposition = /^(attachment|inline|form-data)\s*(;|$)/i

function checkDisposition(
  { headers, status }: ObservedResponse,
  isDownload: boolean,
  id: number,
  reporter: Voice,
): void {
  const said = headers['content-disposition']
  if (said === undefined && !isDownload) return
  expectFor(reporter, id)(
    'header.content-disposition',
    said !== undefined && disposition.test(said),
    () => `content-disposition is ${quote(said)} on a ${status}, expected attachment or inline`,
  )
}

type Voice = ClauseReporter<'resources'>

export const pageHeaders = {
  limit: 'x-pagination-limit',
  page: 'x-pagination-page',
  total: 'x-pagination-total',
  totalPages: 'x-pagination-total-pages',
} as const
const wholeNumber = /^\d+$/

const hasNoPage = ({ headers }: ObservedResponse): boolean =>
  Object.values(pageHeaders).every(name => headers[name] === undefined)

function checkPages(response: ObservedResponse, request: ResourceDescriptor, id: number, reporter: Voice): void {
  const expect = expectFor(reporter, id)
  const { headers } = response
  const invalid = Object.values(pageHeaders).filter(name => !wholeNumber.test(headers[name] ?? ''))
  const got = () => invalid.map(name => `${name} is ${quote(headers[name])}`).join(', ')
  expect('header.pagination', invalid.length === 0, () => `${got()} on a paginated list, expected whole numbers`)
  if (invalid.length > 0) return
  const [limit, page, total, totalPages] = [
    Number(headers[pageHeaders.limit]),
    Number(headers[pageHeaders.page]),
    Number(headers[pageHeaders.total]),
    Number(headers[pageHeaders.totalPages]),
  ]

  // The number of a page after the last one is open.
  const wanted = request.page === null ? 1 : request.page <= totalPages ? request.page : null
  const isRight = page >= 1 && (wanted === null || page === wanted)
  expect('header.pagination.page', isRight, () => `the stated page is ${page}, expected ${wanted ?? 'at least 1'}`)

  const pages = limit === 0 ? 0 : Math.ceil(total / limit)
  expect(
    'header.pagination.total-pages',
    // A list without items may have no page, or one empty page.
    (limit > 0 && totalPages === pages) || (total === 0 && totalPages <= 1),
    () => `${totalPages} pages are stated for ${total} items with ${limit} per page, expected ${pages}`,
  )

  const items = itemsOf(response)?.length ?? null
  if (items === null || !isRight) return
  const expected = Math.max(0, Math.min(limit, total - (page - 1) * limit))
  expect(
    'header.pagination.items',
    items === expected,
    () => `page ${page} of ${total} items with ${limit} per page has ${items} items, expected ${expected}`,
  )
}

/** The items of a list, in either known position; null if they are elsewhere, or too many to record. */
export function itemsOf({ body }: ObservedResponse): readonly unknown[] | null {
  if (body.kind !== 'json' || body.cut) return null
  const list = Array.isArray(body.value) ? body.value : toObject(body.value)?.data
  return Array.isArray(list) ? list : null
}
