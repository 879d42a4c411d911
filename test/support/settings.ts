import type { VirtualRun } from './virtual-run.ts'

/** A shipped scenario under the circumstances in which it is said to run: what lies are looked for with. */
export type Setting = { readonly name: string; readonly run: Omit<VirtualRun, 'lies'> }

const shipped = (name: string): Setting => ({ name, run: { scenario: `scenarios/${name}.yaml` } })

const withShortWindows = (name: string): Setting => ({
  name: `${name} with short windows`,
  run: { scenario: `scenarios/${name}.yaml`, profile: 'scenarios/profiles/short-windows.yaml' },
})

/** The quickest first: a lie is looked for by those that exercise its clause, in this order. */
export const settings: readonly Setting[] = [
  shipped('conformance'),
  shipped('resources'),
  shipped('idempotency'),
  withShortWindows('idempotency'),
  shipped('billing'),
  { name: 'billing in DIEM', run: { scenario: 'scenarios/billing.yaml', openingBalanceDiem: '0.0015' } },
  shipped('smoke'),
  shipped('abuse-block'),
  shipped('rate-limit'),
  shipped('partner-tiers'),
]
