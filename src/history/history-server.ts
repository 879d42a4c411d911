import { join } from 'node:path'
import { compareRecorded } from '../judge/compare/comparable.ts'
import { defaultCriteria } from '../judge/compare/comparison.ts'
import { systemClock } from '../lib/clock.ts'
import { plural } from '../lib/format.ts'
import { UsageError } from '../lib/usage-error.ts'
import { type HttpServer, listen, respond } from '../outputs/http-server.ts'
import { namesThisServer, safeHeaders } from '../outputs/page-guard.ts'
import { comparisonRenderers, renderHtml } from '../report/render/renderers.ts'
import { readComparedRun } from '../storage/recorded-run.ts'
import { readReport } from '../storage/run-directory.ts'
import type { RunIndex, RunList } from '../storage/run-index.ts'
import { historyPage, historyPolicy, problemPage, type RunFilter } from './history-page.ts'

/** More runs would take too long to read. */
const maxCompared = 20

/** How long a page may wait for reports that were never read. The rest is left for the next page. */
const maxReadingMs = 800

/** Serves the runs of an index at the loopback interface. Rejects if it cannot listen. */
export function startHistoryServer(index: RunIndex, port: number): Promise<HttpServer> {
  const host = '127.0.0.1'
  return listen({ host, port }, (request, response) => {
    const answer = ({ status, markup }: Answer) =>
      respond(response, status, 'text/html; charset=utf-8', markup, {
        ...safeHeaders,
        'content-security-policy': historyPolicy,
        'cache-control': 'no-store',
      })
    if (!namesThisServer({ host: request.headers.host }, host))
      return answer(problem(403, 'Not here', ['This name is not the name of this server.']))
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return answer(problem(405, 'Not allowed', ['Only GET and HEAD are allowed.']))
    answerTo(index, request.url ?? '/').then(answer, (cause: unknown) => answer(problemOf(cause)))
  })
}

type Answer = { readonly status: number; readonly markup: string }

const found = (markup: string): Answer => ({ status: 200, markup })
const problem = (status: number, title: string, lines: readonly string[]): Answer => ({
  status,
  markup: problemPage(title, lines),
})

async function answerTo(index: RunIndex, address: string): Promise<Answer> {
  const query = address.indexOf('?')
  const path = query < 0 ? address : address.slice(0, query)
  const values = new URLSearchParams(query < 0 ? '' : address.slice(query + 1))
  const isPage = path === '/' || path === '/compare' || path.startsWith('/runs/')
  if (!isPage) return problem(404, 'No such page', ['The list of all runs is at /.'])
  if (path === '/compare') return found(await comparisonOf(index, values.getAll('run')))
  if (path !== '/') return found(renderHtml(readReport(pathsIn(index)(decoded(path.slice('/runs/'.length))))))
  return found(historyPage(index.folder, await readForAWhile(index), selectionOf(values)))
}

/** The runs whose reports could be read in `maxReadingMs`. */
export function readForAWhile(index: RunIndex): Promise<RunList> {
  const clock = systemClock()
  return index.read(() => clock.nowMs() > maxReadingMs)
}

const selectionOf = (values: URLSearchParams): RunFilter => ({
  scenario: values.get('scenario') || null,
  verdict: values.get('verdict') || null,
  page: Math.floor(Number(values.get('page') ?? 1)) || 1,
})

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

/**
 * The directories of the runs that are listed now, by name. Only a name of the list becomes a path, so no request leads
 * out of the folder.
 */
function pathsIn(index: RunIndex): (name: string) => string {
  const listed = new Set(index.names())
  return name => {
    if (listed.has(name)) return join(index.folder, name)
    throw new UsageError({ where: 'run', got: JSON.stringify(name), expected: 'a run of the list' })
  }
}

/** The latest of the runs, compared with the others. */
async function comparisonOf(index: RunIndex, names: readonly string[]): Promise<string> {
  if (names.length < 2 || names.length > maxCompared)
    throw new UsageError({
      where: 'comparison',
      got: plural(names.length, 'checked run'),
      expected: `2 to ${maxCompared} checked runs`,
    })
  const paths = names.map(pathsIn(index))
  const recorded = await Promise.all(paths.map(readComparedRun))
  const inOrder = recorded.toSorted((a, b) => (a.info.startedAt < b.info.startedAt ? -1 : 1))
  return comparisonRenderers.html.render(compareRecorded(inOrder, defaultCriteria))
}

/** What a run directory holds is data: a damaged one gets a page that says so. */
const problemOf = (cause: unknown): Answer =>
  cause instanceof UsageError
    ? problem(422, 'This cannot be shown', cause.message.split('\n'))
    : problem(500, 'Turnpike failed', ['This is a bug; please report it.', String(cause)])
