import { type Contract, methodTier } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { probeOf } from '../contract/probes.ts'
import { UsageError } from '../lib/usage-error.ts'
import { type Call, traitsOf } from './calls/calls.ts'
import { hasAllowList } from './calls/rpc.ts'
import type { Scenario } from './schema.ts'
import type { Stage } from './stage-schema.ts'

/**
 * The scenario without calls of resources, networks and methods that the target does not offer. All else begins as before. Throws a
 * UsageError about `file` if nothing is left.
 */
export function withoutUnoffered(scenario: Scenario, contract: Contract, file: string): Scenario {
  const notOffered = Object.keys(scenario.calls).filter(name => !isOffered(scenario.calls[name], contract))
  if (notOffered.length === 0) return scenario
  const isLeft = (name: string) => !notOffered.includes(name)
  const stages = scenario.stages.map(stage => withoutCalls(stage, isLeft))
  const isEmptied = ({ shape }: Stage, index: number) => shape === 'pause' && scenario.stages[index]?.shape !== 'pause'
  const emptied = stages.filter(isEmptied).map(({ name }) => name)
  if (emptied.length > 0 && stages.every(({ shape }) => shape === 'pause'))
    throw new UsageError({
      where: file,
      got: `only calls of what the target does not offer: ${notOffered.join(', ')}`,
      expected: 'a call of what it offers',
    })
  const ofCalls = <Value>(values: Readonly<Record<string, Value>>) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => isLeft(name)))
  return {
    ...scenario,
    calls: ofCalls(scenario.calls),
    stages,
    slo: ofCalls(scenario.slo),
    thresholds: scenario.thresholds.filter(
      ({ call, stage }) => (call === null || isLeft(call)) && (stage === null || !emptied.includes(stage)),
    ),
    notOffered,
  }
}

function isOffered(call: Call | undefined, contract: Contract): boolean {
  if (call === undefined) return true
  const { network, methods } = traitsOf(call)
  if (network !== null && !Object.hasOwn(contract.rpc.networks, network)) return false
  if (network !== null && hasAllowList(contract) && methods.every(each => methodTier(contract, network, each) === null))
    return false
  if (call.kind === 'resource') return Object.hasOwn(contract.resources, call.resource)
  return call.kind !== 'probe' || isAskedResourceOffered(call.probe, contract)
}

/** Whether the target offers the resource that a probe asks. A probe of embeddings asks whichever resource makes them. */
function isAskedResourceOffered(probe: string, { resources }: Contract): boolean {
  const { path } = probeOf(probe).request(documentedContract)
  return Object.entries(documentedContract.resources).every(
    ([name, resource]) =>
      resource.path !== path ||
      Object.hasOwn(resources, name) ||
      (resource.draws === 'embedding' && Object.values(resources).some(({ draws }) => draws === 'embedding')),
  )
}

function withoutCalls(stage: Stage, isLeft: (name: string) => boolean): Stage {
  if (stage.shape === 'sequence') {
    const calls = stage.calls.filter(isLeft)
    return calls.length === 0 ? pauseFor(stage) : { ...stage, calls }
  }
  if (!('mix' in stage)) return stage
  const mix = stage.mix.filter(([name]) => isLeft(name))
  return mix.length === 0 ? pauseFor(stage) : { ...stage, mix }
}

/** A pause in the place of a stage, so that the stages after it begin when they would. */
export function pauseFor(stage: Stage): Stage {
  const durationMs = 'durationMs' in stage ? stage.durationMs : 0
  const { name, beyondFailures, beyondTier } = stage
  return { name, durationMs, firstCaller: 0, callers: 1, beyondFailures, beyondTier, shape: 'pause' }
}
