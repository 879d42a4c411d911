import { plainTable } from '../lib/text-layout.ts'
import type { Percentiles } from '../metrics/histogram.ts'
import type { Certificate } from './certificate.ts'

/** A certificate for people. */
export function describeCertificate(certificate: Certificate): string {
  const { verdict, because, turnpike, bare, eventLoopDelayMs } = certificate
  const rows = [
    row('every chunk', turnpike.chunkMs),
    row('first tokens', turnpike.firstTokenMs),
    row('every chunk, bare reader', bare.chunkMs),
    row('first tokens, bare reader', bare.firstTokenMs),
    row('error of gaps', turnpike.gapMs),
    row('metronome behind its schedule', turnpike.metronomeMs),
  ]
  const { p99, max } = eventLoopDelayMs
  return [
    `${verdict.toUpperCase()}  ${loadOf(certificate)}`,
    ...because.map(reason => `  - ${reason}`),
    floorOf(certificate),
    '',
    plainTable(['written to stamped, ms', 'p50', 'p90', 'p99', 'p99.9', 'max', 'count'], rows),
    '',
    `event loop delay: p99 ${p99.toFixed(2)} ms, at most ${max.toFixed(2)} ms`,
    '',
  ].join('\n')
}

const row = (name: string, { p50, p90, p99, p999, max, count }: Percentiles): readonly string[] => [
  name,
  ...[p50, p90, p99, p999, max].map(milliseconds),
  count.toLocaleString('en'),
]

/** Rounded up, for it is a bound. */
const milliseconds = (ms: number | null): string => (ms === null ? '–' : (Math.ceil(ms * 100) / 100).toFixed(2))

const loadOf = ({ load: { streams, perSecond, atOnce, seconds } }: Certificate): string => {
  const written = atOnce === 1 ? '' : `, ${atOnce} written at once`
  return `${streams.toLocaleString('en')} streams of ${perSecond} tokens a second${written}, watched for ${seconds} s`
}

function floorOf({ floorMs: { ttft, gap } }: Certificate): string {
  if (ttft === null || gap === null)
    return 'What times say about a target on this machine under this load is not known.'
  return `On this machine under this load, a TTFT below ${milliseconds(ttft)} ms and a gap between chunks below ${milliseconds(gap)} ms say nothing about a target.`
}
