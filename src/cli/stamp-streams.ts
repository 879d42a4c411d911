import type { Measured } from '../certificate/certificate.ts'
import { type Beats, collectDelays, stampsOf } from '../certificate/delays.ts'
import { noteBeats } from '../certificate/note-beats.ts'
import { countedSpan } from '../certificate/stream-load.ts'
import { streamOf } from '../observation/observation.ts'
import { carryOutStreams, type StreamRun } from './carry-out-streams.ts'

/** Carries out a load of streams and holds the stamps of its observations, on which every report rests, against the beats. */
export async function stampStreams(
  run: Omit<StreamRun, 'onStart' | 'observe'> & { readonly originMs: number },
): Promise<Pick<Measured, 'turnpike' | 'misread' | 'run'>> {
  const { load, originMs } = run
  const noted = new Map<string, Beats>()
  let loadStartMs: () => number | null = () => null
  const delays = collectDelays(() => countedSpan(load, originMs + (loadStartMs() ?? Number.NaN)))
  let misread = 0
  const { verdict, because } = await carryOutStreams({
    ...run,
    send: noteBeats(run.send, (answerId, beats) => noted.set(answerId, beats)),
    onStart: startMs => {
      loadStartMs = startMs
    },
    observe: observation => {
      const { answer, outcome } = observation
      const stream = streamOf(observation)
      const answerId = answer?.headers['cf-ray'] ?? ''
      const beats = noted.get(answerId)
      noted.delete(answerId)
      // A stream that failed has its place in the verdict of the run.
      if (stream === null || beats === undefined || outcome.kind !== 'answered') return
      const stampsMs = stampsOf(stream, originMs)
      if (stampsMs.length === beats.writtenMs.length) delays.add(beats, stampsMs)
      else misread++
    },
  })
  return { turnpike: delays.facts(), misread, run: { verdict, because } }
}
