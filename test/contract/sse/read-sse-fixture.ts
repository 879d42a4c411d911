import { readdirSync, readFileSync } from 'node:fs'

/** A stream as a document. The README in this directory describes the notation. */
export type SseFixture = {
  readonly name: string
  readonly reads: readonly Read[]
  readonly expected: Expected
}

export type Read = { readonly atMs: number; readonly bytes: Buffer }

export type Expected = {
  readonly outcome: string
  readonly detail: string | null
  readonly grammar: readonly (readonly [part: string, count: number])[]
  readonly tokensAtMs: readonly number[]
  readonly firstContentMs: number | null
  readonly finishReasons: readonly string[]
  readonly contentCharacters: number
  readonly reasoningCharacters: number
  readonly usage: unknown
  readonly cost: unknown
  readonly error: unknown
  readonly malformed: unknown
  readonly ids: unknown
}

export function readSseFixtures(): readonly SseFixture[] {
  const names = readdirSync(import.meta.dirname).filter(name => name.endsWith('.sse'))
  return names.map(name => parseFixture(name.slice(0, -4), readFileSync(`${import.meta.dirname}/${name}`, 'utf8')))
}

function parseFixture(name: string, text: string): SseFixture {
  const bodyAt = text.indexOf('\n\n') + 2
  const header = text.slice(0, bodyAt - 2).split('\n')
  // The description ends at the first line with only a #.
  const lines = header.slice(header.indexOf('#') + 1).map(line => /^# (\S+(?: \S+)*) {2,}(\S.*)$/.exec(line))
  const terms = new Map(lines.map(match => [match?.[1] ?? '', match?.[2] ?? '']))
  for (const term of terms.keys())
    if (!knownTerms.has(term)) throw new Error(`${name}.sse: unknown expectation "${term}"`)
  return { name, reads: readsOf(text.slice(bodyAt), lineEnds[terms.get('line ends') ?? 'LF']), expected: expect(terms) }
}

const lineEnds: Readonly<Record<string, string>> = { LF: '\n', CRLF: '\r\n', CR: '\r' }

const knownTerms = new Set(
  'line ends,outcome,detail,grammar,tokens at,first content,finish,content,reasoning,usage,cost,error,malformed,ids'.split(
    ',',
  ),
)

function expect(terms: ReadonlyMap<string, string>): Expected {
  const term = (name: string): string => {
    const value = terms.get(name)
    if (value === undefined) throw new Error(`missing expectation: ${name}`)
    return value
  }
  const json = (name: string): unknown => JSON.parse(terms.get(name) ?? 'null')
  const tokensAtMs = (terms.get('tokens at') ?? '').match(/[\d.]+/g)?.map(Number) ?? []
  const firstContent = terms.get('first content')
  return {
    outcome: term('outcome'),
    detail: terms.get('detail') ?? null,
    grammar: [...term('grammar').matchAll(/([a-z-]+) (\d+)/g)].map(match => [match[1] ?? '', Number(match[2])]),
    tokensAtMs,
    firstContentMs: firstContent === undefined ? (tokensAtMs[0] ?? null) : Number.parseFloat(firstContent) || null,
    finishReasons: terms.get('finish')?.split(', ') ?? [],
    contentCharacters: Number.parseInt(terms.get('content') ?? '0', 10),
    reasoningCharacters: Number.parseInt(terms.get('reasoning') ?? '0', 10),
    usage: json('usage'),
    cost: json('cost'),
    error: json('error'),
    malformed: json('malformed') ?? [],
    ids: json('ids'),
  }
}

function readsOf(body: string, lineEnd = '\n'): readonly Read[] {
  const end = body.indexOf('‹end›')
  if (end === -1) throw new Error('missing mark: ‹end›')
  const text = body.slice(0, end).replace(/^(‹[\d.]+ ms›)\n/gm, '$1')
  const reads: { atMs: number; pieces: Buffer[] }[] = []
  for (const [, mark, plain] of text.matchAll(/‹([^›]*)›|([^‹]+)/g)) {
    if (mark?.endsWith(' ms')) reads.push({ atMs: Number.parseFloat(mark), pieces: [] })
    else
      reads
        .at(-1)
        ?.pieces.push(mark === undefined ? Buffer.from((plain ?? '').replaceAll('\n', lineEnd)) : special(mark))
  }
  return reads.map(({ atMs, pieces }) => ({ atMs, bytes: Buffer.concat(pieces) }))
}

function special(mark: string): Buffer {
  const repeated = /^(.+) × (\d+)$/.exec(mark)
  if (repeated !== null) return Buffer.from((repeated[1] ?? '').repeat(Number(repeated[2])))
  if (!/^[0-9A-F]{2}( [0-9A-F]{2})*$/.test(mark)) throw new Error(`unknown mark: ‹${mark}›`)
  return Buffer.from(mark.replaceAll(' ', ''), 'hex')
}
