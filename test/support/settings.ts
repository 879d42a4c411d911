import { readFileSync } from 'node:fs'
import { clauseIds, isExtra } from '../../src/contract/clauses.ts'
import type { Contract } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { loadProfile } from '../../src/contract/profile.ts'
import type { VirtualRun } from './virtual-run.ts'

/** A shipped scenario with its documented conditions, used to find lies. */
export type Setting = { readonly name: string; readonly run: Omit<VirtualRun, 'lies'> }

const shipped = (name: string): Setting => ({ name, run: { scenario: `scenarios/${name}.yaml` } })

const withShortWindows = (name: string): Setting => ({
  name: `${name} with short windows`,
  run: { scenario: `scenarios/${name}.yaml`, profile: 'scenarios/profiles/short-windows.yaml' },
})

const usualScopes = { chatScope: 'model', rpcScope: 'all', resourceScope: 'type' } as const

/**
 * Some clauses need more than the document shows: the algorithm and the scopes of the limits, the layouts of errors and lists, the last
 * digit of a balance, and what concurrent requests with one key get. Without it, much of what a service does may be right.
 */
const withKnownDetails = (setting: string, contract: Contract = documentedContract): Setting => ({
  name: `${setting} with known details`,
  run: {
    scenario: `scenarios/${setting.split(' ')[0]}.yaml`,
    contract: {
      ...contract,
      limits: { ...contract.limits, algorithm: 'fixed-window', scope: 'account', ...usualScopes },
      errors: { ...contract.errors, layout: 'error' },
      lists: { layout: 'public' },
      idempotency: { ...contract.idempotency, concurrent: 'one-charge' },
      sources: { ...contract.sources, 'billing.balanceResolutionUsd': 'profile' },
    },
  },
})

const randomFaults: Setting['run']['faults'] = [
  { status: 500, probability: 0.02 },
  { status: 503, probability: 0.02 },
  { status: 504, probability: 0.02 },
]

/** The target publishes no limits of resources, so only the document tells those that are wrong. */
const byDocument = ({ name, run }: Setting): Setting => ({
  name: `${name} by the documented limits`,
  run: { ...run, limitsFrom: 'documented' },
})

const forPartners = (name: string): Setting => ({
  name: `${name} for partners`,
  run: { scenario: readFileSync(`scenarios/${name}.yaml`, 'utf8').replace('tier: default', 'tier: partner') },
})

/** Wallets on Base alone: those on Solana ask a node before they pay, which takes real time. */
const onBase = (name: string, more: Omit<Setting['run'], 'scenario'> = {}): Setting => ({
  name: `${name} on Base${more.wallets === undefined ? '' : ' with failing settlements'}`,
  run: { scenario: readFileSync(`scenarios/${name}.yaml`, 'utf8').replace('[base, solana]', 'base'), ...more },
})

const walletsAtTheirLimit = `name: wallets-at-their-limit
callers: { count: 0, wallets: 1, chain: base }
calls:
  large: { kind: chat, stream: false, model-tier: L, prompt-tokens: 20, max-completion-tokens: 8 }
stages:
  - { name: above, duration: 25s, shape: constant, rate: 1/s, exceed-tier: true, mix: { large: 1 } }`

const node = loadProfile('scenarios/profiles/json-rpc-node.yaml')

/** All of the document, and what only profiles promise of completions. */
const withExtras = { only: ['*'], except: ['rpc.protocol.*', 'rpc.coherence.*'] }

/** The fastest first: each lie runs in the settings that exercise its clause, in this order. */
export const settings: readonly Setting[] = [
  shipped('conformance'),
  withKnownDetails('conformance'),
  {
    name: 'conformance with offers of payment',
    run: {
      scenario: 'scenarios/conformance.yaml',
      contract: { ...documentedContract, auth: { ...documentedContract.auth, noKey: [402] } },
    },
  },
  {
    name: 'node-conformance with a limit of batches',
    run: {
      scenario: 'scenarios/node-conformance.yaml',
      contract: { ...node, promises: { ...node.promises, except: [] }, rpc: { ...node.rpc, batchLimit: 20 } },
    },
  },
  {
    name: 'rpc-coherence',
    run: { scenario: 'scenarios/rpc-coherence.yaml', profile: 'scenarios/profiles/json-rpc-node.yaml' },
  },
  {
    name: 'llm-conformance',
    run: { scenario: 'scenarios/llm-conformance.yaml', profile: 'scenarios/profiles/openai-compatible.yaml' },
  },
  shipped('wallet-sign-in'),
  {
    name: 'wallet-sign-in with credit',
    run: { scenario: 'scenarios/wallet-sign-in.yaml', wallets: { creditUsd: '3' } },
  },
  shipped('resources'),
  byDocument(shipped('conformance')),
  byDocument(shipped('resources')),
  byDocument(forPartners('resources')),
  shipped('idempotency'),
  withKnownDetails('idempotency'),
  withShortWindows('idempotency'),
  shipped('billing'),
  shipped('hang-ups'),
  {
    name: 'hang-ups with their price and slots',
    run: {
      scenario: 'scenarios/hang-ups.yaml',
      contract: {
        ...documentedContract,
        billing: { ...documentedContract.billing, hangUp: 'delivered' },
        chat: { ...documentedContract.chat, atOnce: { requests: 2, message: 'Too many completions at once' } },
        promises: { only: [...clauseIds.filter(id => !isExtra(id)), 'slow-reader.*'], except: [] },
      },
    },
  },
  { name: 'billing in DIEM', run: { scenario: 'scenarios/billing.yaml', openingBalanceDiem: '0.0015' } },
  shipped('twins'),
  {
    name: 'twins with answers promised',
    run: { scenario: 'scenarios/twins.yaml', contract: { ...documentedContract, promises: withExtras } },
  },
  shipped('conversations'),
  shipped('agents'),
  {
    name: 'agents with JSON promised',
    run: {
      scenario: 'scenarios/agents.yaml',
      contract: { ...documentedContract, promises: withExtras },
    },
  },
  shipped('smoke'),
  withKnownDetails('smoke'),
  shipped('races'),
  withKnownDetails('races'),
  {
    name: 'races with little money',
    run: {
      scenario: 'scenarios/races.yaml',
      openingBalanceUsd: '0.02',
      contract: { ...documentedContract, billing: { ...documentedContract.billing, atOnce: 'serial' } },
    },
  },
  shipped('abuse-block'),
  shipped('rate-limit'),
  withShortWindows('rate-limit'),
  withKnownDetails('rate-limit'),
  withKnownDetails('rate-limit with short windows', loadProfile('scenarios/profiles/short-windows.yaml')),
  onBase('x402-refusals'),
  onBase('x402-races'),
  onBase('x402-top-up'),
  {
    ...onBase('x402-top-up', { contract: { ...documentedContract, promises: withExtras } }),
    name: 'x402-top-up with settlements promised',
  },
  onBase('x402-top-up', {
    contract: { ...documentedContract, promises: withExtras },
    wallets: { creditUsd: '3', faults: [{ kind: 'reverted', probability: 0.4 }] },
  }),
  onBase('wallets'),
  { name: 'wallets at their limit', run: { scenario: walletsAtTheirLimit, wallets: { creditUsd: '3' } } },
  shipped('partner-tiers'),
  shipped('stairs'),
  shipped('spike'),
  shipped('capacity'),
  { name: 'smoke with faults', run: { scenario: 'scenarios/smoke.yaml', faults: randomFaults } },
  {
    name: 'smoke with faults and known details',
    run: { ...withKnownDetails('smoke').run, faults: randomFaults },
  },
]
