import type { Status } from './document.ts'

/** What a page can be rendered as. */
export type Medium = 'text' | 'markdown' | 'html'

/** Words on one line. They may hold anything that a target said: each renderer escapes them. */
export type Words = string | StyledWords | readonly Words[]

export type Tone = 'good' | 'bad' | 'doubtful' | 'quiet' | 'strong'

type StyledWords = {
  readonly words: Words
  readonly tone?: Tone
  /** A name, shown exactly as it is. */
  readonly isCode?: true
  /** Put in front as a sign, where the medium has signs. */
  readonly verdict?: Status
}

/** The same words everywhere, or those of each medium. Where a medium has none, it shows nothing. */
export type Content = Words | { readonly [M in Medium]?: Words }

/**
 * A page is a list of blocks: each section of a report adds its own, and each renderer shows all of them. Sections write
 * `Content`; renderers see the words for their medium.
 */
export type Block<C = Content> = (
  | Heading<C>
  | Text<C>
  | List<C>
  | Table<C>
  | FindingBlock
  | Details<C>
  | { readonly kind: 'chart'; readonly chart: Chart }
) &
  Shown

/** The media that show a block or a row; all of them where it is left out. */
type Shown = { readonly in?: readonly Medium[] }

export type Heading<C = Content> = {
  readonly kind: 'heading'
  readonly text: C
  /** The anchor of the section that begins here. A heading without one is the title of the page. */
  readonly id?: string
  /** Of a title: what the page concludes. */
  readonly verdict?: { readonly status: Status; readonly words: C }
  /** Shown on the line of the heading, in text only. */
  readonly beside?: string
}

export type Text<C = Content> = {
  readonly kind: 'text'
  readonly text: C
  /** `headline`: in text a row of cells, each in its own style. */
  readonly look?: 'question' | 'headline' | 'small' | 'facts'
  /** In text: indented by one more step. */
  readonly isNested?: true
  /** In text: after an empty line. */
  readonly afterGap?: true
}

export type List<C = Content> = {
  readonly kind: 'list'
  readonly items: readonly C[]
  /** The name of each item, on a page. */
  readonly terms?: readonly string[]
  /** `reasons`: of many, a page shows the first and folds the rest. `lines`: lines of one paragraph. */
  readonly look: 'reasons' | 'counts' | 'lines' | 'terms'
  readonly afterGap?: true
}

/** A table without rows is not shown. */
export type Table<C = Content> = {
  readonly kind: 'table'
  readonly columns: readonly Column<C>[]
  readonly rows: readonly Row<C>[]
  /** In text: without the line of titles. */
  readonly isBare?: true
  /** In text: indented by one more step. */
  readonly isNested?: true
  /** On a page as narrow as a phone, each row becomes a card. */
  readonly folds?: true
}

export type Column<C = Content> = {
  /** The media that have a title show the column, even if the title is empty. */
  readonly title: C
  readonly align?: 'right'
  /** On a page: its words may take several lines. */
  readonly wraps?: true
  /** In text: where the lines are too long, the columns of the highest priority number are left out first. */
  readonly priority?: number
  /** In text: in characters. */
  readonly maxWidth?: number
}

export type Row<C = Content> = Shown & {
  /** One for each column. */
  readonly cells: readonly C[]
  /** In text: lines below the row. */
  readonly notes?: readonly { readonly text: string; readonly lead?: string }[]
  /** In text: a line above the first row of each group. */
  readonly group?: string
}

/** A violation or a discrepancy, with the requests that prove it. */
export type FindingBlock = {
  readonly kind: 'finding'
  readonly name: string
  /** The section of the document, or the ledger; empty where the place of the block says it. */
  readonly where: string
  readonly tally: string
  /** What documentation says, and what was seen. */
  readonly text: string | null
  readonly seen: string | null
  /** `seq` of each request that the first example cites. */
  readonly requests: readonly number[]
  readonly evidence: readonly { readonly lines: readonly string[]; readonly curl: string | null }[]
}

/** Folded until the reader opens it; left out of text. */
export type Details<C = Content> = {
  readonly kind: 'details'
  readonly summary: string
  readonly blocks: readonly Block<C>[]
}

/** Drawn on a page, and left out elsewhere. */
export type Chart = TimeChart | RateChart | HeatMapChart | LanesChart | TilesChart | DotsChart

type Color = 'blue' | 'teal' | 'amber' | 'red' | 'green' | 'violet' | 'grey'

type Titled = { readonly title: string; readonly note: string }

/** A stage is shaded under the curves. */
export type StageBand = { readonly name: string; readonly startMs: number; readonly endMs: number }

/** One value for each step of time; null: none. */
export type Curve = {
  readonly name: string
  readonly color: Color
  readonly stroke?: 'dashed' | 'dotted' | 'thin'
  /** Filled down to the base line. */
  readonly filled?: boolean
  readonly stepMs: number
  /** Whether a value belongs to the end of its step, as a running total does; otherwise to its middle. */
  readonly atEnd?: boolean
  readonly values: readonly (number | null)[]
}

export type TimeChart = Titled & {
  readonly draw: 'time'
  readonly endMs: number
  readonly height: number
  readonly stages: readonly StageBand[]
  readonly curves: readonly Curve[]
  readonly format: (value: number) => string
  /** Said instead of the plot where all values are 0, or there are none. */
  readonly silence: string
}

/** Values against the rates at which they were seen. */
export type RateChart = Titled & {
  readonly draw: 'rate'
  readonly trials: readonly { readonly perSecond: number; readonly color: Color; readonly text: string }[]
  /** What the colors of the points mean. */
  readonly meanings: Readonly<Partial<Record<Color, string>>>
  /** One value for each trial; null: none. */
  readonly curves: readonly Pick<Curve, 'name' | 'color' | 'values'>[]
  /** Whether a line shows where a value is the rate itself. */
  readonly hasDiagonal: boolean
  /** A rate that is marked; null: none. */
  readonly mark: { readonly perSecond: number; readonly label: string } | null
  readonly format: (value: number) => string
}

/** How many values there were of each size (rows, `perOctave` for each doubling from `fromMs`) in each step of time. */
export type HeatMapChart = Titled & {
  readonly draw: 'heat-map'
  readonly endMs: number
  readonly stages: readonly StageBand[]
  readonly stepMs: number
  readonly fromMs: number
  readonly perOctave: number
  readonly counts: readonly (readonly number[])[]
}

/** Lanes below each other, over one axis. */
export type LanesChart = Titled & {
  readonly draw: 'lanes'
  /** `plain`: without labels. All are in the unit of the marks; `log` and `time` in milliseconds. */
  readonly axis: { readonly scale: 'plain' | 'log' | 'time'; readonly from: number; readonly to: number }
  readonly height: number
  /** Whether the names of the lanes are long. */
  readonly isWide?: true
  readonly lanes: readonly Lane[]
}

export type Lane = {
  readonly name: Words
  /** What the lane shows, for readers who do not see it. */
  readonly label: string
  readonly end: Words
  readonly marks: readonly Mark[]
}

/** Positions are in the unit of the axis, heights are shares of the height of a lane. */
export type Mark =
  | { readonly mark: 'shade'; readonly from: number; readonly to: number }
  | { readonly mark: 'bar'; readonly from: number; readonly to: number; readonly share: number; readonly text: string }
  | { readonly mark: 'bars'; readonly step: number; readonly shares: readonly number[]; readonly isPale: boolean }
  | { readonly mark: 'span'; readonly from: number; readonly to: number; readonly color: Color }
  | { readonly mark: 'point'; readonly at: number; readonly color: Color; readonly text: string }
  | { readonly mark: 'tick'; readonly at: number; readonly look: 'mark' | 'base' }
  | { readonly mark: 'refusal'; readonly at: number; readonly isUnexpected: boolean; readonly text: string }

/** The numbers that stand for a whole run. */
export type TilesChart = { readonly draw: 'tiles'; readonly tiles: readonly Tile[] }

export type Tile = {
  readonly name: string
  readonly value: string
  /** Small, after the value. */
  readonly of?: string
  readonly note: string
  readonly tone: Tone | null
}

/** A dot for each thing, by row. */
export type DotsChart = {
  readonly draw: 'dots'
  readonly rows: readonly {
    readonly name: string
    readonly dots: readonly { readonly tone: Tone; readonly text: string }[]
  }[]
}

/** What a medium shows of a page: without the blocks, columns and rows that it leaves out. */
export const blocksIn = (medium: Medium, blocks: readonly Block[]): readonly Block<Words>[] =>
  blocks.filter(block => isIn(medium, block)).flatMap(block => blockIn(medium, block) ?? [])

function blockIn(medium: Medium, block: Block): Block<Words> | null {
  switch (block.kind) {
    case 'heading': {
      const { verdict, ...heading } = block
      const text = wordsIn(medium, heading.text)
      if (text === null) return null
      if (verdict === undefined) return { ...heading, text }
      return { ...heading, text, verdict: { ...verdict, words: wordsIn(medium, verdict.words) ?? '' } }
    }
    case 'text': {
      const text = wordsIn(medium, block.text)
      return text === null ? null : { ...block, text }
    }
    case 'list': {
      const items = block.items.map(item => wordsIn(medium, item)).filter(item => item !== null)
      return items.length === 0 ? null : { ...block, items }
    }
    case 'table': {
      const columns = block.columns.flatMap((column, index) => {
        const title = wordsIn(medium, column.title)
        return title === null ? [] : [{ ...column, title, index }]
      })
      const rows = block.rows
        .filter(row => isIn(medium, row))
        .map(row => ({ ...row, cells: columns.map(({ index }) => wordsIn(medium, row.cells[index] ?? '') ?? '') }))
      return rows.length === 0 ? null : { ...block, columns, rows }
    }
    case 'details':
      return { ...block, blocks: blocksIn(medium, block.blocks) }
    case 'finding':
    case 'chart':
      return block
  }
}

const isIn = (medium: Medium, { in: media }: Shown): boolean => media === undefined || media.includes(medium)

/** null: the medium shows nothing. */
const wordsIn = (medium: Medium, content: Content): Words | null =>
  isWords(content) ? content : (content[medium] ?? null)

const isWords = (content: Content): content is Words =>
  typeof content === 'string' || Array.isArray(content) || 'words' in content

/** The words without their style. */
export function plainWords(words: Words): string {
  if (typeof words === 'string') return words
  return 'words' in words ? plainWords(words.words) : words.map(plainWords).join('')
}

/** A column of numbers. */
export const right = (title: Content): Column => ({ title, align: 'right' })

export const chart = (drawn: Chart): Block => ({ kind: 'chart', chart: drawn })

export const code = (words: string): StyledWords => ({ words, isCode: true })

export const toned = (tone: Tone, words: Words): StyledWords => ({ words, tone })

/** The tone of what has this status. */
export const statusTones: Readonly<Record<Status, Tone>> = { pass: 'good', fail: 'bad', inconclusive: 'doubtful' }

/** `requests 17, 18`. */
export const requestList = (ids: readonly number[]): string =>
  `${ids.length === 1 ? 'request' : 'requests'} ${ids.join(', ')}`
