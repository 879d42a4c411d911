import { systemClock } from '../../lib/clock.ts'
import { count, formatBytes, formatDuration, plural } from '../../lib/format.ts'
import { describeMistake, UsageError } from '../../lib/usage-error.ts'
import { oneLine } from '../../lib/visible.ts'
import { parseDuration, parsePercent, parseRate } from '../../scenario/units.ts'
import type { FormatName } from '../../traffic/formats.ts'
import { type ImportedTraffic, type ImportProgress, importTraffic } from '../../traffic/import-traffic.ts'
import { scenarioFileFor } from '../../traffic/traffic-scenario.ts'
import { exitCodes, integerFlag, number, text, type Values } from '../flags.ts'
import { printJson, wantsJson } from '../print.ts'
import { progressBar } from '../progress-bar.ts'

/** Writes a scenario and its trace, and says what became of the traffic. */
export async function importCommand(values: Values): Promise<number> {
  const traffic = text(values, 'traffic') ?? ''
  const rate = flagOf(values, 'rate', 'a rate such as 20/s', written => {
    const parsed = parseRate(written)
    return parsed?.kind === 'absolute' && parsed.perSecond > 0 ? parsed.perSecond : null
  })
  if (rate !== undefined && values.speed !== undefined)
    throw new UsageError({
      where: '--rate',
      got: 'also --speed',
      expected: 'one of them, since a rate decides the speed',
    })
  const share = (name: string, least: number) =>
    flagOf(
      values,
      name,
      `a share such as 10%, ${least === 0 ? 'at most 100%' : 'above 0% and at most 100%'}`,
      written => {
        const parsed = parsePercent(written)
        return parsed !== null && parsed >= least && parsed <= 1 ? parsed : null
      },
    )
  const bar = values.progress === false ? null : progressBar()
  const imported = await importTraffic(traffic, {
    out: text(values, 'out') ?? scenarioFileFor(traffic),
    from: (text(values, 'from') ?? undefined) as FormatName | undefined,
    ...{ speed: speedOf(values), perSecond: rate, sample: share('sample', 1e-6), maxBad: share('max-bad', 0) },
    seed: integerFlag(values, 'seed', { min: 0, max: Number.MAX_SAFE_INTEGER }),
    durationMs: flagOf(values, 'duration', 'a duration such as 10m', written => parseDuration(written) || null),
    blockTokens:
      values['block-tokens'] === undefined ? undefined : integerFlag(values, 'block-tokens', { min: 1, max: 100_000 }),
    ...{ keepsText: values.text === true, keepsModels: values.models === true },
    onProgress: bar === null ? undefined : paced(bar.show),
  }).finally(() => bar?.end())
  if (wantsJson(values)) printJson(imported)
  else process.stdout.write(summary(traffic, imported))
  return exitCodes.pass
}

function flagOf(
  values: Values,
  name: string,
  expected: string,
  parse: (written: string) => number | null,
): number | undefined {
  const written = text(values, name)
  if (written === null) return undefined
  const parsed = parse(written)
  if (parsed !== null) return parsed
  throw new UsageError({ where: `--${name}`, got: JSON.stringify(written), expected })
}

function speedOf(values: Values): number | undefined {
  const speed = number(values, 'speed') ?? undefined
  if (speed === undefined || (speed >= 0.001 && speed <= 1_000)) return speed
  throw new UsageError({ where: '--speed', got: String(speed), expected: 'a factor from 0.001 to 1000' })
}

const showEveryMs = 100

/** Shows progress a few times per second. */
function paced(show: (done: number, all: number, text: string) => void) {
  const clock = systemClock()
  let nextMs = 0
  return ({ bytes, ofBytes, requests }: ImportProgress) => {
    if (clock.nowMs() < nextMs) return
    nextMs = clock.nowMs() + showEveryMs
    show(bytes, ofBytes, `${formatBytes(bytes)} of ${formatBytes(ofBytes)}, ${plural(requests, 'request')}`)
  }
}

function summary(traffic: string, imported: ImportedTraffic): string {
  const { requests, sessions, durationMs, speed, promptTokens, completionTokens, scenario, trace } = imported
  const { notSampled, leftOut, bad, badLines } = imported
  const of =
    sessions === 0 ? '' : ` of ${sessions === null ? 'more than a million sessions' : plural(sessions, 'session')}`
  const at = speed === 1 ? '' : `, repeated in ${formatDuration(durationMs / speed)} at speed ${speed}`
  const left = Object.entries(leftOut).map(([why, times]) => `Left out: ${plural(times, 'part')}, ${why}.`)
  return [
    `${plural(requests, 'request')}${of} in ${formatDuration(durationMs)}${at}.`,
    `${count(promptTokens)} prompt tokens, at most ${count(completionTokens)} completion tokens.`,
    ...(notSampled === 0 ? [] : [`${plural(notSampled, 'request')} not in the sample.`]),
    ...left,
    ...(bad === 0 ? [] : [`Bad lines: ${count(bad)}${bad > badLines.length ? ', the first of them' : ''}:`]),
    ...badLines.map(({ line, ...mistake }) => `  ${describeMistake({ where: `${traffic}:${line}`, ...mistake })}`),
    '',
    `Written: ${oneLine(scenario)}, ${oneLine(trace)}`,
    `Next: turnpike plan ${oneLine(scenario)}`,
    '',
  ].join('\n')
}
