import { readFileSync } from 'node:fs'
import type { VirtualRun } from './virtual-run.ts'

/** A shipped scenario with its documented conditions, used to find lies. */
export type Setting = { readonly name: string; readonly run: Omit<VirtualRun, 'lies'> }

const shipped = (name: string): Setting => ({ name, run: { scenario: `scenarios/${name}.yaml` } })

const withShortWindows = (name: string): Setting => ({
  name: `${name} with short windows`,
  run: { scenario: `scenarios/${name}.yaml`, profile: 'scenarios/profiles/short-windows.yaml' },
})

/** The target publishes no limits of resources, so only the document tells those that are wrong. */
const byDocument = ({ name, run }: Setting): Setting => ({
  name: `${name} by the documented limits`,
  run: { ...run, limitsFrom: 'documented' },
})

const forPartners = (name: string): Setting => ({
  name: `${name} for partners`,
  run: { scenario: readFileSync(`scenarios/${name}.yaml`, 'utf8').replace('tier: default', 'tier: partner') },
})

/** The fastest first: each lie runs in the settings that exercise its clause, in this order. */
export const settings: readonly Setting[] = [
  shipped('conformance'),
  shipped('resources'),
  byDocument(shipped('resources')),
  byDocument(forPartners('resources')),
  shipped('idempotency'),
  withShortWindows('idempotency'),
  shipped('billing'),
  { name: 'billing in DIEM', run: { scenario: 'scenarios/billing.yaml', openingBalanceDiem: '0.0015' } },
  shipped('smoke'),
  shipped('abuse-block'),
  shipped('rate-limit'),
  withShortWindows('rate-limit'),
  shipped('partner-tiers'),
  shipped('stairs'),
  shipped('spike'),
  shipped('capacity'),
  {
    name: 'smoke with faults',
    run: {
      scenario: 'scenarios/smoke.yaml',
      faults: [
        { status: 500, probability: 0.02 },
        { status: 503, probability: 0.02 },
        { status: 504, probability: 0.02 },
      ],
    },
  },
]
