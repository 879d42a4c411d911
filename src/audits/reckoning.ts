import { createSortedQueue } from './sorted-queue.ts'

/** A request as far as its overlap with others goes. All instants in milliseconds since the start of the run. */
export type Span = {
  readonly sentMs: number
  /** What the answer says of the state of things is from then at the latest. Not before `sentMs`. */
  readonly shownMs: number
  /** From then on, whatever is sent finds the effect of this request in place. Not before `shownMs`. */
  readonly settledMs: number
}

/** What a request can have found in place, as sums over other requests. */
export type View<Sum> = {
  /** Over those that had settled before it was sent: it found their effect for sure. */
  readonly certain: Sum
  /** Over all that were sent before it. */
  readonly before: Sum
  /** Over itself and all that were sent before its answer showed anything: it found no effect of any other. */
  readonly possible: Sum
}

export type Reckoning<Entry extends Span> = {
  /** Entries added later were sent at `watermarkMs` or after it. */
  readonly add: (entry: Entry, watermarkMs: number) => void
  /** Judges what was still open; nothing is added any more. */
  readonly conclude: () => void
}

/**
 * The bounds by which everything that adds up is judged although requests overlap: money on an account, requests in a
 * window. Entries are judged in the order of sending, each as soon as nothing can be added any more that it may have
 * found in place. Takes the same time for an entry however many overlap, and keeps only what is still open.
 */
export function createReckoning<Entry extends Span, Sum>(
  nothing: Sum,
  plus: (sum: Sum, entry: Entry) => Sum,
  judge: (entry: Entry, view: View<Sum>) => void,
): Reckoning<Entry> {
  type Place = { readonly entry: Entry; sumThrough: Sum }
  const open = createSortedQueue<Place>(({ entry }) => entry.sentMs)
  /** So many of the open entries have their sum, because nothing can come in front of them. */
  let summed = 0
  let total = nothing
  let before = nothing
  const unsettled = createSortedQueue<Entry>(entry => entry.settledMs)
  let certain = nothing

  function judgeFirst({ entry, sumThrough }: Place) {
    for (let first = unsettled.at(0); first !== undefined && first.settledMs <= entry.sentMs; first = unsettled.at(0)) {
      certain = plus(certain, first)
      unsettled.shift()
    }
    const reach = Math.max(1, open.countBelow(entry.shownMs))
    const possible = open.at(reach - 1)?.sumThrough ?? total
    judge(entry, { certain, before, possible })
    before = sumThrough
    unsettled.insert(entry)
    open.shift()
    summed--
  }

  function advance(watermarkMs: number) {
    for (let next = open.at(summed); next !== undefined && next.entry.sentMs < watermarkMs; next = open.at(summed)) {
      total = plus(total, next.entry)
      next.sumThrough = total
      summed++
    }
    for (let first = open.at(0); first !== undefined && first.entry.shownMs < watermarkMs; first = open.at(0))
      judgeFirst(first)
  }

  return {
    add: (entry, watermarkMs) => {
      open.insert({ entry, sumThrough: nothing })
      advance(watermarkMs)
    },
    conclude: () => advance(Number.POSITIVE_INFINITY),
  }
}
