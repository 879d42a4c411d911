import { realpathSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { isLoopback } from '../lib/loopback.ts'
import { formatPico, parsePico, pico } from '../lib/money.ts'
import { describeValue, oneOf, UsageError } from '../lib/usage-error.ts'

/** What the person who starts the server allows. */
export type Terms = {
  /** The maximum that all runs together may spend; null: none was given. */
  readonly capUsd: string | null
  /** The targets that are not on this machine and may be named. */
  readonly targets: readonly string[]
}

export type Allowance = {
  /** Throws a UsageError for a target that may not be named. Sends nothing. */
  readonly assertTarget: (target: string) => void
  /** Reserves the budget of a run. Throws a UsageError if it exceeds what is left, or while another run goes. */
  readonly reserve: (budgetUsd: string) => Reservation
}

type Reservation = {
  /** Ends the run. null: it is unknown what it spent, so its whole budget counts. */
  readonly settle: (spentUsd: string | null) => void
}

/** Throws a UsageError if a target is not an address, or if there is one without a cap. */
export function createAllowance({ capUsd, targets }: Terms): Allowance {
  const strange = targets.find(target => !URL.canParse(target) || !/^https?:$/.test(new URL(target).protocol))
  if (strange !== undefined) {
    const expected = 'an http or https address such as https://api.example.com/v1'
    throw new UsageError({ where: '--target', got: describeValue(strange), expected })
  }
  if (capUsd === null && targets.length > 0)
    throw new UsageError({
      where: '--budget-usd',
      got: 'nothing',
      expected: 'a budget for all runs, because of --target',
    })
  let leftPico = capUsd === null ? null : amountOf(capUsd, '--budget-usd')
  let isRunning = false
  return {
    assertTarget: target => {
      if (targets.includes(target)) return
      // Anything but an address is reported by the command.
      if (!URL.canParse(target) || isLoopback(target)) return
      const expected = ['a target on this machine', ...targets]
      const hint = `to allow it, start the server with --target ${new URL(target).origin} and --budget-usd`
      throw new UsageError({ where: 'target', got: describeValue(target), expected: oneOf(expected), hint })
    },
    reserve: budgetUsd => {
      const budget = amountOf(budgetUsd, 'budgetUsd')
      if (isRunning)
        throw new UsageError({
          where: 'run',
          got: 'a second run',
          expected: 'one run at a time, since two would disturb each other',
        })
      if (leftPico !== null && budget > leftPico)
        throw new UsageError({
          where: 'budgetUsd',
          got: `$${formatPico(budget)}`,
          expected: `at most $${formatPico(leftPico)}, which is left of the $${capUsd} of all runs`,
        })
      isRunning = true
      return {
        settle: spentUsd => {
          isRunning = false
          if (leftPico !== null) leftPico -= spentUsd === null ? budget : pico(spentUsd)
        },
      }
    },
  }
}

function amountOf(text: string, where: string): bigint {
  const amount = /^\d+(\.\d+)?$/.test(text) ? parsePico(text) : null
  if (amount !== null && amount > 0n) return amount
  throw new UsageError({ where, got: describeValue(text), expected: 'an amount of dollars above 0, such as 0.50' })
}

/**
 * A path that an agent names, if it is in the folder, with links followed. The name of a shipped scenario is such a path,
 * too. Throws a UsageError if it is elsewhere.
 */
export function pathInside(folder: string, path: string, where: string): string {
  const found = realPath(resolve(folder, path))
  const root = realPath(folder)
  // A path that begins with a hyphen would be a flag.
  if (!path.startsWith('-') && !path.includes('\0') && (found === root || found.startsWith(`${root}${sep}`)))
    return path
  throw new UsageError({ where, got: describeValue(path), expected: `a path in the working directory, ${folder}` })
}

/** The path without links. What does not exist is added to its folder. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(realPath(parent), path.slice(parent.length))
  }
}
