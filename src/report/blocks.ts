import type { Verdict } from './document.ts'

/** The media that a page can be rendered for. */
export type Medium = 'text' | 'markdown' | 'html'

/** Words on one line. They may contain text of the target; each renderer escapes them. */
export type Words = string | StyledWords | readonly Words[]

export type Tone = 'good' | 'bad' | 'doubtful' | 'quiet' | 'strong'

type StyledWords = {
  readonly words: Words
  readonly tone?: Tone
  /** A name, shown verbatim. */
  readonly isCode?: true
  /** Markdown shows it as a sign before the words. */
  readonly verdict?: Verdict
}

/** The same words in every medium, or words by medium; a medium without words leaves them out. */
export type Content = Words | { readonly [M in Medium]?: Words }

/**
 * A page is a list of blocks: each section of a report adds blocks, and each renderer shows them. Sections write
 * `Content`; renderers get the words for their medium.
 */
export type Block<C = Content> = (
  | Heading<C>
  | Text<C>
  | CodeLines
  | List<C>
  | Table<C>
  | FindingBlock
  | Details<C>
  | { readonly kind: 'chart'; readonly chart: Chart }
) &
  Shown

/** The media that show a block or a row; missing: all. */
type Shown = { readonly in?: readonly Medium[] }

export type Heading<C = Content> = {
  readonly kind: 'heading'
  readonly text: C
  /** The anchor of the section that starts here. A heading without one is the title of the page. */
  readonly id?: string
  /** Of a title: the result of the page. */
  readonly verdict?: { readonly status: Verdict; readonly words: C }
}

export type Text<C = Content> = {
  readonly kind: 'text'
  readonly text: C
  /** `headline`: a list of parts. Text shows them as cells, each in its own style; the others join them with a blank. */
  readonly look?: 'question' | 'headline' | 'small' | 'facts'
  /** In text: indented by one more step. */
  readonly isNested?: true
  /** In text: preceded by an empty line. */
  readonly afterGap?: true
}

/** To be pasted: every medium shows the lines as they are. */
type CodeLines = { readonly kind: 'code'; readonly lines: readonly string[]; readonly language: 'yaml' }

export type List<C = Content> = {
  readonly kind: 'list'
  readonly items: readonly C[]
  /** The name of each item, for the look `terms`. */
  readonly terms?: readonly string[]
  /** `reasons`: an HTML page shows the first ones and folds the rest. */
  readonly look: 'reasons' | 'counts' | 'terms'
  readonly afterGap?: true
}

/** A table without rows is not shown. */
export type Table<C = Content> = {
  readonly kind: 'table'
  readonly columns: readonly Column<C>[]
  readonly rows: readonly Row<C>[]
  /** In text: indented by one more step. */
  readonly isNested?: true
  /** On a narrow HTML page, each row becomes a card. */
  readonly folds?: true
}

export type Column<C = Content> = {
  /** Every medium with a title shows the column, even if the title is empty. */
  readonly title: C
  readonly align?: 'right'
  /** In HTML: words may wrap. */
  readonly wraps?: true
  /** In text: if lines are too long, the columns with the highest number are left out first. */
  readonly priority?: number
  /** In text, in characters. */
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
  /** From 1. The command `findings` takes it. */
  readonly number: number
  readonly name: string
  /** The section of the document, or the ledger. */
  readonly where: string
  readonly tally: string
  /** The sentence of the document; null: there is none. */
  readonly text: string | null
  /** Each with its first violation. */
  readonly causes: readonly Cause[]
  /** Violations with causes that are not listed; null: none. */
  readonly others: string | null
}

/** Violations that are alike. */
export type Cause = {
  /** What was observed instead of what is documented. */
  readonly seen: string
  /** How many; null: it is the only cause. */
  readonly tally: string | null
  /** The requests: first those that decide. */
  readonly requests: string
  readonly evidence: readonly { readonly lines: readonly string[]; readonly curl: string | null }[]
  /** Requests without evidence here; null: none. */
  readonly rest: string | null
}

/** Folded until the reader opens it; text leaves it out. */
type Details<C = Content> = {
  readonly kind: 'details'
  readonly summary: string
  readonly blocks: readonly Block<C>[]
}

/** Drawn in HTML only. */
export type Chart = TimeChart | RateChart | HeatMapChart | LanesChart | TilesChart | DotsChart

type Color = 'blue' | 'teal' | 'amber' | 'red' | 'green' | 'violet' | 'grey'

type Titled = { readonly title: string; readonly note: string }

/** A stage, or a part of one, is shaded under the curves. A role has a color of its own and stands in the legend. */
export type StageBand = {
  readonly name: string
  readonly startMs: number
  readonly endMs: number
  readonly role?: 'warm-up' | 'confirmation'
}

/** One value for each step of time; null: none. */
export type Curve = {
  readonly name: string
  readonly color: Color
  readonly stroke?: 'dashed' | 'dotted' | 'thin'
  /** Filled down to the baseline. */
  readonly filled?: boolean
  readonly stepMs: number
  /** Whether a value belongs to the end of its step, like a running total; otherwise to the middle. */
  readonly atEnd?: boolean
  readonly values: readonly (number | null)[]
}

/** A value that is marked by a line across the chart. */
export type Bound = { readonly value: number; readonly label: string }

export type TimeChart = Titled & {
  readonly draw: 'time'
  readonly endMs: number
  readonly height: number
  readonly stages: readonly StageBand[]
  readonly curves: readonly Curve[]
  /** Left out if it is far above all values. */
  readonly bound?: Bound | null
  readonly format: (value: number) => string
  /** Shown instead of the plot if there are no values or all are 0. */
  readonly silence: string
}

/** Values against the rates at which they were observed. */
export type RateChart = Titled & {
  readonly draw: 'rate'
  readonly trials: readonly {
    readonly perSecond: number
    readonly color: Color
    readonly text: string
    /** Drawn as a ring. */
    readonly isRing: boolean
  }[]
  /** What the colors of the points mean, and rings. */
  readonly meanings: Readonly<Partial<Record<Color, string>>>
  readonly ring: string
  /** One value for each trial; null: none. */
  readonly curves: readonly Pick<Curve, 'name' | 'color' | 'values'>[]
  /** Whether a line marks the points where the value equals the rate. */
  readonly hasDiagonal: boolean
  /** A rate that is marked; null: none. */
  readonly mark: { readonly perSecond: number; readonly label: string } | null
  /** Always within the chart; null: none. */
  readonly bound: Bound | null
  readonly format: (value: number) => string
}

/** The number of values of each size (rows: `perOctave` for each doubling from `fromMs`) in each step of time. */
export type HeatMapChart = Titled & {
  readonly draw: 'heat-map'
  readonly endMs: number
  readonly stages: readonly StageBand[]
  readonly stepMs: number
  readonly fromMs: number
  readonly perOctave: number
  readonly counts: readonly (readonly number[])[]
}

/** Lanes below each other, with one axis. */
export type LanesChart = Titled & {
  readonly draw: 'lanes'
  /** In the unit of the marks; `log` and `time` are in milliseconds, `plain` has no labels. */
  readonly axis: { readonly scale: 'plain' | 'log' | 'time'; readonly from: number; readonly to: number }
  readonly height: number
  /** The names of the lanes are long. */
  readonly isWide?: true
  readonly lanes: readonly Lane[]
}

export type Lane = {
  readonly name: Words
  /** A description for screen readers. */
  readonly label: string
  readonly end: Words
  readonly marks: readonly Mark[]
}

/** Positions are in the unit of the axis; heights are shares of the lane's height. */
export type Mark =
  | { readonly mark: 'shade'; readonly from: number; readonly to: number }
  | { readonly mark: 'bar'; readonly from: number; readonly to: number; readonly share: number; readonly text: string }
  | { readonly mark: 'bars'; readonly step: number; readonly shares: readonly number[]; readonly isPale: boolean }
  | { readonly mark: 'span'; readonly from: number; readonly to: number; readonly color: Color }
  | { readonly mark: 'point'; readonly at: number; readonly color: Color; readonly text: string }
  | { readonly mark: 'tick'; readonly at: number; readonly look: 'mark' | 'base' }
  | { readonly mark: 'refusal'; readonly at: number; readonly isUnexpected: boolean; readonly text: string }

/** The main numbers of a run. */
export type TilesChart = { readonly draw: 'tiles'; readonly tiles: readonly Tile[] }

export type Tile = {
  readonly name: string
  readonly value: string
  /** Small, after the value. */
  readonly of?: string
  readonly note: string
  readonly tone: Tone | null
}

/** One dot for each item, by row. */
export type DotsChart = {
  readonly draw: 'dots'
  readonly rows: readonly {
    readonly name: string
    readonly dots: readonly { readonly tone: Tone; readonly text: string }[]
  }[]
}

/** The blocks of a page in one medium, without the blocks, columns and rows that the medium leaves out. */
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
    case 'code':
    case 'finding':
    case 'chart':
      return block
  }
}

const isIn = (medium: Medium, { in: media }: Shown): boolean => media === undefined || media.includes(medium)

/** null: the medium leaves it out. */
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

export const statusTones: Readonly<Record<Verdict, Tone>> = { pass: 'good', fail: 'bad', inconclusive: 'doubtful' }
