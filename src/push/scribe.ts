import { compress } from 'snappyjs'
import type { Letter } from './outbox.ts'
import { createProtobufWriter } from './protobuf.ts'
import type { Reading } from './readings.ts'
import { endSeries, writeLabels, writeSeries } from './write-request.ts'

/** Writes down what all series have at an instant, as requests of remote write. */
export type Scribe = {
  /** A series that was there the last time and is not now is ended. Instants, in milliseconds of Unix time, ascend. */
  readonly write: (readings: Iterable<readonly Reading[]>, atMs: number) => AsyncIterable<Letter>
}

type Series = { readonly labels: Uint8Array; readonly of: 'numbers' | 'histograms'; seenAtMs: number }

/** One block of Snappy, which takes about a millisecond. */
const letterBytes = 64 * 1024
/** So many series are written before others have a turn: well below a millisecond. */
const seriesOfATurn = 250

/** `identity` is on every series. `breathe` gives others a turn, for whoever writes is on the loop that sends. */
export function createScribe(identity: Readonly<Record<string, string>>, breathe: () => Promise<void>): Scribe {
  const requests = createProtobufWriter(2 * letterBytes)
  const labels = createProtobufWriter()
  const known = new Map<string, Series>()
  let samples = 0

  const seriesOf = ({ name, labels: own, value }: Reading): Series => {
    let key = name
    for (const label in own) key += `\0${own[label]}`
    const found = known.get(key)
    if (found !== undefined) return found
    writeLabels(labels, { ...own, ...identity, __name__: name })
    const of = typeof value === 'number' ? 'numbers' : 'histograms'
    const series: Series = { labels: labels.take(), of, seenAtMs: Number.NaN }
    known.set(key, series)
    return series
  }

  const letter = (): Letter => {
    const written = { body: compress(requests.take()), samples }
    samples = 0
    return written
  }

  /** Writes one series after the other, the ended ones last. */
  function* eachSeries(readings: Iterable<readonly Reading[]>, atMs: number): Iterable<void> {
    for (const family of readings) {
      for (const reading of family) {
        const { value } = reading
        if (typeof value === 'number' && !Number.isFinite(value)) continue
        const series = seriesOf(reading)
        // One value at an instant: with a second one, a receiver would refuse the whole letter.
        if (series.seenAtMs === atMs) continue
        series.seenAtMs = atMs
        yield writeSeries(requests, series.labels, value, atMs)
      }
    }
    for (const [key, series] of known) {
      if (series.seenAtMs === atMs) continue
      known.delete(key)
      yield endSeries(requests, series.labels, series.of, atMs)
    }
  }

  return {
    write: async function* (readings, atMs) {
      let ofTurn = 0
      for (const _ of eachSeries(readings, atMs)) {
        samples++
        if (requests.size() >= letterBytes) yield letter()
        else if (++ofTurn < seriesOfATurn) continue
        ofTurn = 0
        await breathe()
      }
      if (samples > 0) yield letter()
    },
  }
}
