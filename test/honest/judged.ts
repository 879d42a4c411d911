import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Report } from '../../src/report/document.ts'
import { type Ended, freshDirectory, turnpike } from '../support/turnpike.ts'
import { virtualRun } from '../support/virtual-run.ts'
import { honestTransport } from './in-memory.ts'
import type { Settings } from './service/accounts.ts'
import { catalogOf } from './service/catalog.ts'
import type { Lie } from './service/lies.ts'
import { profileOf, shortened } from './service/profile.ts'
import { startService } from './service/server.ts'
import { type Variant, variant as variantOf } from './service/variant.ts'

export type Trial = {
  readonly changes: Partial<Variant>
  /** A scenario file. Models and networks that the variant lacks are replaced by others. */
  readonly scenario: string
  /** The price list of the company, or nothing but shortened times. */
  readonly profile: 'prices' | 'none'
  readonly settings?: Partial<Settings>
  readonly lies?: readonly Lie[]
  /** Sends the scenario as it is, with models and networks that the variant lacks. */
  readonly asWritten?: boolean
  /** Without keys, the program invents some. */
  readonly keys?: 'given' | 'invented'
}

/** Windows, blocks and keys that last for seconds, so that a run sees them end. */
export const shortTimes = { windowMs: 4000, failureWindowMs: 4000, blockMs: 4000, keptMs: 3000, tokensOfM: 600 }

export type Judged = {
  /** `none` without a report. */
  readonly verdict: Report['verdict'] | 'none'
  /** Each with its clause first. */
  readonly findings: readonly string[]
  readonly clauses: readonly string[]
  /** What the user reads. */
  readonly text: string
}

const keys = Array.from({ length: 48 }, (_, index) => `hk-c${index}-1 hk-c${index}-2`).join(',')

/** The scenario with the models and networks that the service has. */
function adapted(file: string, variant: Variant): string {
  const { models, chains } = catalogOf(variant, null)
  const text = readFileSync(file, 'utf8')
  const withModels = models.some(({ tier }) => tier === 'L') ? text : text.replaceAll('model-tier: L', 'model-tier: M')
  const slugs = chains.map(({ slug }) => slug)
  return withModels.replaceAll(/network: ([a-z]+)-([a-z]+)/g, (line, chain: string, net: string) => {
    if (slugs.includes(`${chain}-${net}`)) return line
    const family = chain === 'solana' || chain === 'starknet' ? chain : 'evm'
    const other = chains.find(({ slug }) => slug === `${chain}_${net}`) ?? chains.find(known => known.family === family)
    return `network: ${other?.slug ?? slugs[0]}`
  })
}

/** What a run gets: the scenario as a text, and a profile file, unless there is none. */
function inputsOf({ changes, scenario, profile, settings = {}, asWritten = false }: Trial) {
  const variant = variantOf(changes)
  const folder = freshDirectory()
  const times = shortened(settings)
  const text =
    profile === 'prices' ? profileOf(variant, settings) : Object.keys(times).length > 0 ? stringify(times) : null
  const profileFile = join(folder, 'profile.yaml')
  if (text !== null) writeFileSync(profileFile, text)
  return {
    variant,
    folder,
    scenario: asWritten ? readFileSync(scenario, 'utf8') : adapted(scenario, variant),
    profileFile: text === null ? null : profileFile,
  }
}

const environmentOf = ({ keys: given }: Trial): Readonly<Record<string, string>> =>
  given === 'invented'
    ? {}
    : { TURNPIKE_KEYS: keys, TURNPIKE_FREE_USER_KEY: 'hk-free-1', TURNPIKE_ZERO_BALANCE_KEY: 'hk-zero-1' }

/** Judges the service in virtual time. */
export async function judge(trial: Trial): Promise<Judged> {
  const { settings = {}, lies = [] } = trial
  const { variant, scenario, profileFile } = inputsOf(trial)
  const { report } = await virtualRun({
    scenario,
    ...(profileFile !== null && { profile: profileFile }),
    target: {
      connect: clock => honestTransport(variant, settings, lies, clock),
      environment: environmentOf(trial),
    },
  })
  return { ...accusationsOf(report), text: report.reasons.join('\n') }
}

/** Runs the program against the service over sockets, and reads the report. */
export async function judgeOverSockets(trial: Trial): Promise<Judged & { readonly ended: Ended }> {
  const { settings = {}, lies = [] } = trial
  const { variant, folder, scenario, profileFile } = inputsOf(trial)
  const [scenarioFile, out] = [join(folder, 'scenario.yaml'), join(folder, 'run')]
  writeFileSync(scenarioFile, scenario)
  const service = await startService(variant, settings, lies)
  try {
    const flags = profileFile === null ? [] : ['--profile', profileFile]
    const ended = await turnpike(
      ['run', scenarioFile, '--target', service.target, '--out', out, ...flags],
      environmentOf(trial),
    )
    const text = `${ended.stdout}${ended.stderr}`
    const file = join(out, 'report.json')
    if (!existsSync(file)) return { verdict: 'none', findings: [], clauses: [], text, ended }
    return { ...accusationsOf(JSON.parse(readFileSync(file, 'utf8'))), text, ended }
  } finally {
    await service.close()
  }
}

function accusationsOf({ verdict, findings, billing, thresholds }: Report): Omit<Judged, 'text'> {
  const discrepancies = billing.discrepancies.flatMap(({ kind, examples }) => [
    `ledger ${kind}: ${examples[0]?.message}`,
  ])
  return {
    verdict,
    clauses: [...new Set(findings.map(({ clause }) => clause))],
    findings: [
      ...findings.map(({ clause, message }) => `${clause}: ${message}`),
      ...discrepancies,
      ...thresholds.filter(({ verdict: held }) => held === 'fail').map(({ message }) => `threshold: ${message}`),
    ],
  }
}

/**
 * Whether a scenario may be unable to decide about a service: it states an RPC limit that the scenario does not expect,
 * more headers than a response may have, or its limits by model alone, so that the tier of a model is a guess.
 */
const mayStayOpen = ({ rpcLimit = 100, extraHeaders, models, rateLimitsLayout }: Partial<Variant>): boolean =>
  rpcLimit !== 100 || extraHeaders === 300 || (models === 'no-large' && rateLimitsLayout === 'rows')

/** Why the service with these readings does not pass, or what it is accused of. Empty for an honest one. */
export async function objections(trial: Trial): Promise<readonly string[]> {
  const { verdict, findings, text } = await judge(trial)
  if (verdict === 'pass' || (verdict === 'inconclusive' && mayStayOpen(trial.changes))) return findings
  return [...findings, text]
}

/** A threshold that a busy machine can miss, whatever the service does. */
const isOfMachine = (finding: string): boolean => /^threshold: (dropped|p\()/.test(finding)

/** The accusations of a run over sockets. On a busy machine it may be inconclusive. */
export const accusationsIn = ({ findings, ended }: Judged & { readonly ended: Ended }): readonly string[] =>
  [0, 1, 3].includes(ended.code ?? -1) ? findings.filter(finding => !isOfMachine(finding)) : [ended.stderr]
