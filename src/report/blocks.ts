import type { Status } from '../metrics/thresholds.ts'

/** What a page can be rendered as. */
export type Medium = 'text' | 'markdown' | 'html'

/** Words on one line. They may hold anything that a target said: each renderer escapes them. */
export type Words = string | StyledWords | readonly Words[]

export type Tone = 'good' | 'bad' | 'doubtful' | 'quiet' | 'strong'

export type StyledWords = {
  readonly words: Words
  readonly tone?: Tone
  /** A name, shown exactly as it is. */
  readonly isCode?: true
  /** Put in front as a sign, where the medium has signs. */
  readonly verdict?: Status
}

/** The same words everywhere, or those of each medium. Where a medium has none, it shows nothing. */
export type Content = Words | { readonly [M in Medium]?: Words }

/** A page is a list of blocks: each section of a report adds its own, and each renderer shows all of them. */
export type Block = (Heading | Text | List | Table | FindingBlock | Details | ChartBlock) & {
  /** The media that show the block; all of them where it is left out. */
  readonly in?: readonly Medium[]
}

export type Heading = {
  readonly kind: 'heading'
  readonly text: Content
  /** The anchor of the section that begins here. A heading without one is the title of the page. */
  readonly id?: string
  /** Of a title: what the page concludes. */
  readonly verdict?: { readonly status: Status; readonly words: Content }
  /** Shown on the line of the heading, in text only. */
  readonly beside?: string
}

export type Text = {
  readonly kind: 'text'
  readonly text: Content
  /** `headline`: in text a row of cells, each in its own style. */
  readonly look?: 'question' | 'headline' | 'small' | 'facts'
  /** In text: indented by one more step. */
  readonly isNested?: true
  /** In text: after an empty line. */
  readonly afterGap?: true
}

export type List = {
  readonly kind: 'list'
  readonly items: readonly Content[]
  /** The name of each item, on a page. */
  readonly terms?: readonly string[]
  /** `reasons`: of many, a page shows the first and folds the rest. `lines`: lines of one paragraph. */
  readonly look: 'reasons' | 'counts' | 'lines' | 'terms'
  readonly afterGap?: true
}

/** A table without rows is not shown. */
export type Table = {
  readonly kind: 'table'
  readonly columns: readonly Column[]
  readonly rows: readonly Row[]
  /** In text: without the line of titles. */
  readonly isBare?: true
  /** In text: indented by one more step. */
  readonly isNested?: true
  /** On a page as narrow as a phone, each row becomes a card. */
  readonly folds?: true
}

export type Column = {
  /** The media that have a title show the column, even if the title is empty. */
  readonly title: Content
  readonly align?: 'right'
  /** On a page: its words may take several lines. */
  readonly wraps?: true
  /** In text: where the lines are too long, the columns of the highest priority number are left out first. */
  readonly priority?: number
  /** In text: in characters. */
  readonly maxWidth?: number
}

export type Row = {
  /** One for each column. */
  readonly cells: readonly Content[]
  /** In text: lines below the row. */
  readonly notes?: readonly { readonly text: string; readonly lead?: string }[]
  /** In text: a line above the first row of each group. */
  readonly group?: string
  readonly in?: readonly Medium[]
}

/** A violation or a discrepancy, with the requests that prove it. */
export type FindingBlock = {
  readonly kind: 'finding'
  readonly name: string
  /** The section of the document, or the ledger; empty where the place of the block says it. */
  readonly where: string
  readonly tally: string
  /** What documentation says, and what was seen. */
  readonly says: string | null
  readonly seen: string | null
  /** `seq` of each request that the first example cites. */
  readonly requests: readonly number[]
  readonly evidence: readonly { readonly lines: readonly string[]; readonly curl: string | null }[]
}

/** Folded until the reader opens it; left out of text. */
export type Details = { readonly kind: 'details'; readonly summary: string; readonly blocks: readonly Block[] }

/** Drawn on a page, and left out elsewhere. */
export type ChartBlock = { readonly kind: 'chart'; readonly chart: Chart }

export type Chart = TimeChart | RateChart | HeatMapChart | LanesChart | TilesChart | DotsChart

export type Color = 'blue' | 'teal' | 'amber' | 'red' | 'green' | 'violet' | 'grey'

type Titled = { readonly title: string; readonly note: string }

/** Stages are shaded behind what is drawn over time. */
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
  readonly trials: readonly { readonly perSecond: number; readonly color: Color; readonly says: string }[]
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
  | { readonly mark: 'bar'; readonly from: number; readonly to: number; readonly share: number; readonly says: string }
  | { readonly mark: 'bars'; readonly step: number; readonly shares: readonly number[]; readonly isPale: boolean }
  | { readonly mark: 'span'; readonly from: number; readonly to: number; readonly color: Color }
  | { readonly mark: 'point'; readonly at: number; readonly color: Color; readonly says: string }
  | { readonly mark: 'tick'; readonly at: number; readonly look: 'mark' | 'base' }
  | { readonly mark: 'refusal'; readonly at: number; readonly isUnexpected: boolean; readonly says: string }

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
    readonly dots: readonly { readonly tone: Tone; readonly says: string }[]
  }[]
}

/** The words for a medium; null: it shows nothing. */
export function contentIn(medium: Medium, content: Content): Words | null {
  return isWords(content) ? content : (content[medium] ?? null)
}

const isWords = (content: Content): content is Words =>
  typeof content === 'string' || Array.isArray(content) || 'words' in content

export const isIn = (medium: Medium, { in: media }: { readonly in?: readonly Medium[] }): boolean =>
  media === undefined || media.includes(medium)

/** The words without their style. */
export function plainWords(words: Words): string {
  if (typeof words === 'string') return words
  return 'words' in words ? plainWords(words.words) : words.map(plainWords).join('')
}

/** A table as a medium has it: its columns, and the cells of its rows in the same order. */
export function tableIn(medium: Medium, { columns, rows }: Table) {
  const shown = columns.flatMap((column, index) => {
    const title = contentIn(medium, column.title)
    return title === null ? [] : [{ ...column, title, index }]
  })
  return {
    columns: shown,
    rows: rows
      .filter(row => isIn(medium, row))
      .map(row => ({ ...row, cells: shown.map(({ index }) => contentIn(medium, row.cells[index] ?? '') ?? '') })),
  }
}

export const code = (words: string): StyledWords => ({ words, isCode: true })

export const toned = (tone: Tone, words: Words): StyledWords => ({ words, tone })

/** The tone of what has this status. */
export const statusTones: Readonly<Record<Status, Tone>> = { pass: 'good', fail: 'bad', inconclusive: 'doubtful' }

/** `requests 17, 18`. */
export const requestList = (ids: readonly number[]): string =>
  `${ids.length === 1 ? 'request' : 'requests'} ${ids.join(', ')}`
