import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Report } from '../../src/report/document.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'
import type { Settings } from './service/accounts.ts'
import { catalogOf } from './service/catalog.ts'
import type { Lie } from './service/lies.ts'
import { profileOf, shortened } from './service/profile.ts'
import { startService } from './service/server.ts'
import { describeChanges, type Variant, variant as variantOf } from './service/variant.ts'

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
  readonly name: string
  readonly code: number | null
  readonly verdict: string
  /** Each with its clause first. */
  readonly findings: readonly string[]
  readonly clauses: readonly string[]
  readonly stdout: string
  readonly stderr: string
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

/** Runs the program against the service, and reads the report. */
export async function judge({
  changes,
  scenario,
  profile,
  settings = {},
  lies = [],
  keys: given,
  asWritten = false,
}: Trial): Promise<Judged> {
  const variant = variantOf(changes)
  const folder = freshDirectory()
  const files = {
    scenario: join(folder, 'scenario.yaml'),
    profile: join(folder, 'profile.yaml'),
    out: join(folder, 'run'),
  }
  writeFileSync(files.scenario, asWritten ? readFileSync(scenario, 'utf8') : adapted(scenario, variant))
  const times = shortened(settings)
  const text =
    profile === 'prices' ? profileOf(variant, settings) : Object.keys(times).length > 0 ? stringify(times) : null
  if (text !== null) writeFileSync(files.profile, text)
  const service = await startService(variant, settings, lies)
  try {
    const flags = text === null ? [] : ['--profile', files.profile]
    const environment = {
      TURNPIKE_KEYS: keys,
      TURNPIKE_FREE_USER_KEY: 'hk-free-1',
      TURNPIKE_ZERO_BALANCE_KEY: 'hk-zero-1',
    }
    const ended = await turnpike(
      ['run', files.scenario, '--target', service.target, '--out', files.out, ...flags],
      given === 'invented' ? {} : environment,
    )
    return {
      name: `${lies.map(({ name }) => name).join(' ') || describeChanges(changes)} (${profile})`,
      ...read(files.out),
      ...ended,
    }
  } finally {
    await service.close()
  }
}

type Read = Pick<Judged, 'verdict' | 'findings' | 'clauses'>

function read(out: string): Read {
  let text: string
  try {
    text = readFileSync(join(out, 'report.json'), 'utf8')
  } catch {
    return { verdict: 'none', findings: [], clauses: [] }
  }
  const { verdict, findings, billing, thresholds }: Report = JSON.parse(text)
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

/** A threshold that a busy machine can miss, whatever the service does. */
const isOfMachine = (finding: string): boolean => /^threshold: (dropped|p\()/.test(finding)

/** What a test compares: an honest service may be inconclusive on a busy machine, but is never accused. */
export const acquitted = { findings: [], verdict: 'not fail', stderr: '' } as const

export function verdictOn({ findings, verdict, code, stderr }: Judged) {
  const accusations = findings.filter(finding => !isOfMachine(finding))
  const isMachine = code === 1 && accusations.length === 0 && findings.length > 0
  return {
    findings: accusations,
    verdict: code === 0 || code === 3 || isMachine ? 'not fail' : verdict,
    stderr: code === 0 || code === 1 || code === 3 ? '' : stderr,
  }
}
