import { loadAddedSecrets } from '../../contract/requests/additions.ts'
import { systemClock } from '../../lib/clock.ts'
import { pico } from '../../lib/money.ts'
import { plainTable } from '../../lib/text-layout.ts'
import { UsageError } from '../../lib/usage-error.ts'
import { listenMistake } from '../../outputs/http-server.ts'
import { parseDuration } from '../../scenario/units.ts'
import {
  defaultLatency,
  latencyDistributionKinds,
  type ServiceCapacity,
  type ServiceLatency,
  scaleLatency,
} from '../../service/capacity.ts'
import { type Fault, faultStatuses, type PaymentFault, paymentFaultKinds } from '../../service/faults.ts'
import { allLies, knownLie, liesOfProfiles } from '../../service/lies/lies.ts'
import { startServer } from '../../service/server.ts'
import { createService } from '../../service/service.ts'
import { defaultWalletSettings, type WalletSettings } from '../../service/wallets/wallets.ts'
import { exitCodes, integerFlag, listFlag, number, text, type Values } from '../flags.ts'
import { endingSignals } from '../interrupts.ts'
import { contractOf } from '../load-plan.ts'
import { listColumns, printJson, wantsJson } from '../print.ts'
import { serviceUpstreams } from '../upstreams.ts'

/**
 * Waits until a server should stop. A child of Turnpike sends its port to the parent, stops when the parent exits, and
 * leaves signals to it. A server that a user started prints `lines` and stops on a signal.
 */
export function serveUntilSignal(port: number, lines: readonly string[]): Promise<void> {
  return new Promise(resolve => {
    if (process.send !== undefined) {
      process.send({ port })
      process.once('disconnect', resolve)
      // They reach the whole group of processes, also when a terminal closes. The run still needs the service then.
      for (const signal of endingSignals) process.on(signal, () => {})
      return
    }
    for (const line of lines) process.stderr.write(`${line}\n`)
    for (const signal of endingSignals) process.once(signal, resolve)
  })
}

const maxServiceTimeMs = 600_000

/** The capacity of the reference service from the flags; null for unlimited. Throws a UsageError. */
export function serviceCapacity(values: Values): ServiceCapacity | null {
  const concurrency = optionalInteger(values, 'concurrency', { min: 1, max: 100_000 })
  const serviceTime = text(values, 'service-time')
  const queueLength = optionalInteger(values, 'queue-length', { min: 0, max: 1_000_000 })
  if (concurrency === null && serviceTime === null && queueLength === null) return null
  if (concurrency === null)
    throw new UsageError({
      where: '--concurrency',
      got: 'nothing',
      expected: 'the number of requests at once, such as 4, since another flag of the capacity is given',
    })
  const serviceTimeMs = parseDuration(serviceTime ?? '')
  if (serviceTimeMs === null || serviceTimeMs <= 0 || serviceTimeMs > maxServiceTimeMs) {
    const got = serviceTime === null ? 'nothing' : JSON.stringify(serviceTime)
    throw new UsageError({
      where: '--service-time',
      got,
      expected: 'the processing time of a request, above 0 and up to 10m, such as 20ms',
    })
  }
  // The parser has refused any other word.
  const distribution = latencyDistributionKinds.find(each => each === text(values, 'distribution')) ?? 'constant'
  return { concurrency, serviceTimeMs, distribution, queueLength: queueLength ?? concurrency }
}

const optionalInteger = (
  values: Values,
  name: string,
  bounds: { readonly min: number; readonly max: number },
): number | null => (number(values, name) === null ? null : integerFlag(values, name, bounds))

export async function serviceCommand(values: Values): Promise<number> {
  if (values['list-lies'] === true) {
    const lies = [...allLies, ...liesOfProfiles].map(({ clause, name, text }) => ({ clause, name, text }))
    if (wantsJson(values)) printJson(lies)
    else process.stdout.write(`${plainTable([], lies.map(Object.values), listColumns())}\n`)
    return exitCodes.pass
  }
  const contract = contractOf(values)
  const upstreams = await serviceUpstreams(values, contract)
  const service = createService({
    contract,
    clock: systemClock(),
    seed: integerFlag(values, 'seed', { min: 0, max: Number.MAX_SAFE_INTEGER }),
    openingBalanceUsd: amount(values, 'opening-balance', '10'),
    openingBalanceDiem: amount(values, 'opening-balance-diem', '0'),
    timing: timingOf(values),
    capacity: serviceCapacity(values),
    wallets: walletSettings(values),
    addedSecrets: loadAddedSecrets(contract, process.env, true),
    lies: listFlag(values, 'lie').map(knownLie),
    faults: faultsOf(listFlag(values, 'fault')),
    chatUpstream: upstreams.chat,
    rpcUpstream: upstreams.rpc,
  })
  const host = text(values, 'host') ?? '127.0.0.1'
  const port = integerFlag(values, 'port', { min: 0, max: 65_535 })
  const server = await startServer({ service, host, port }).catch(cause => {
    throw listenMistake(cause, { host, port, hostFlag: '--host', portFlag: '--port' })
  })
  await serveUntilSignal(server.port, [
    `The reference service is at http://${host}:${server.port}/api/v1 (^C stops it).`,
    'Each key such as ref_default_anna or ref_partner_bob has an account, and so has each wallet.',
    ...upstreams.lines,
  ])
  await server.close()
  await upstreams.close()
  return exitCodes.pass
}

function walletSettings(values: Values): WalletSettings {
  const written = text(values, 'settlement-time') ?? '200ms'
  const settlementMs = parseDuration(written)
  if (settlementMs === null || settlementMs > maxServiceTimeMs)
    throw new UsageError({
      where: '--settlement-time',
      got: JSON.stringify(written),
      expected: 'a time, such as 200ms',
    })
  const { usdc, creditUsd, slowSettlementMs } = defaultWalletSettings
  return {
    usdc: amount(values, 'wallet-usdc', usdc),
    creditUsd: amount(values, 'wallet-credit', creditUsd),
    settlementMs,
    slowSettlementMs,
    faults: paymentFaultsOf(listFlag(values, 'payment-fault')),
  }
}

function paymentFaultsOf(written: readonly string[]): readonly PaymentFault[] {
  const expected = `a fault and a probability, such as lost:0.1; faults are ${paymentFaultKinds.join(', ')}`
  const faults = written.map(text => {
    const [, name, share] = /^([a-z]+):(0?\.\d+|[01])$/.exec(text) ?? []
    const kind = paymentFaultKinds.find(each => each === name)
    if (kind === undefined) throw new UsageError({ where: '--payment-fault', got: JSON.stringify(text), expected })
    return { kind, probability: Number(share) }
  })
  checkSum('--payment-fault', faults)
  return faults
}

function checkSum(where: string, faults: readonly { readonly probability: number }[]): void {
  const total = faults.reduce((sum, { probability }) => sum + probability, 0)
  if (total > 1)
    throw new UsageError({
      where,
      got: `probabilities with a sum of ${Number(total.toPrecision(6))}`,
      expected: 'a sum of at most 1',
    })
}

function faultsOf(written: readonly string[]): readonly Fault[] {
  const expected = `a status and a probability, such as 503:0.05; statuses are ${faultStatuses.join(', ')}`
  const faults = written.map(text => {
    const [, code, share] = /^(\d{3}):(0?\.\d+|[01])$/.exec(text) ?? []
    const status = faultStatuses.find(each => String(each) === code)
    if (status === undefined) throw new UsageError({ where: '--fault', got: JSON.stringify(text), expected })
    return { status, probability: Number(share) }
  })
  checkSum('--fault', faults)
  return faults
}

function timingOf(values: Values): ServiceLatency {
  const { ttftMs, itlMs, rpcMs } = defaultLatency
  const ratio = number(values, 'slowdown') ?? 0
  if (!(ratio > -1 && ratio <= 100))
    throw new UsageError({
      where: '--slowdown',
      got: String(ratio),
      expected: 'a ratio above -1 and at most 100, such as 0.1 for 10 %',
    })
  const timing = {
    ...defaultLatency,
    ttftMs: milliseconds(values, 'ttft', ttftMs),
    itlMs: milliseconds(values, 'itl', itlMs),
    rpcMs: milliseconds(values, 'rpc-latency', rpcMs),
  }
  return scaleLatency(timing, ratio)
}

function milliseconds(values: Values, name: string, fallback: number): number {
  const value = number(values, name) ?? fallback
  if (value >= 0 && value <= 600_000) return value
  throw new UsageError({ where: `--${name}`, got: String(value), expected: 'milliseconds from 0 to 600000' })
}

function amount(values: Values, name: string, fallback: string): string {
  const decimal = text(values, name) ?? fallback
  try {
    if (pico(decimal) >= 0n) return decimal
  } catch {
    // Not a decimal: reported below.
  }
  throw new UsageError({ where: `--${name}`, got: JSON.stringify(decimal), expected: 'an amount, such as 10' })
}
