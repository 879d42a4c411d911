import type { Contract } from '../../contract/contract.ts'
import { documentedContract } from '../../contract/documented.ts'
import { profileValues } from '../../contract/profile.ts'
import { profileKeys } from '../../contract/profile-keys.ts'
import { sourceOfValue } from '../../contract/sources.ts'
import { isObject } from '../../lib/json.ts'
import { visible } from '../../lib/visible.ts'
import { type YamlEntry, yamlComment, yamlFlow, yamlLines } from '../../lib/write-yaml.ts'
import { exitCodes, text, type Values } from '../flags.ts'
import { contractOf } from '../load-plan.ts'
import { printJson, wantsJson } from '../print.ts'

export async function profileCommand(values: Values): Promise<number> {
  const contract = contractOf(values)
  if (wantsJson(values)) printJson(shownValues(contract))
  else process.stdout.write(visible(profileText(contract, text(values, 'profile'))))
  return exitCodes.pass
}

/**
 * The contract as a complete profile: each value below a comment with its meaning. `profile`: the file or the name that
 * it was read from; null for the documented one.
 */
export function profileText(contract: Contract, profile: string | null): string {
  const values = profileValues(contract)
  const heading =
    profile === null
      ? 'Every key of a profile, with its documented value. Keep what your service does differently, remove the rest.'
      : `Every key of the profile ${profile}. "FROM THE PROFILE" marks what it states; the rest is as documented.`
  return [...yamlComment(heading), '', ...yamlLines(entriesIn(values, [], contract)), ''].join('\n')
}

/** The same as plain data, which loads as a profile, too. */
export function shownValues(contract: Contract): Readonly<Record<string, unknown>> {
  const values = profileValues(contract)
  if (isResolutionStated(contract)) return values
  const { balanceResolutionUsd: _, ...billing } = contract.billing
  return { ...values, billing }
}

/** A run takes a stated resolution as certain, even the documented one. So it stays a comment until a profile states it. */
const resolution = 'billing.balanceResolutionUsd'
const isResolutionStated = (contract: Contract): boolean => sourceOfValue(contract, resolution) === 'profile'

function entriesIn(value: unknown, path: readonly string[], contract: Contract): readonly YamlEntry[] {
  if (!isObject(value) || Object.keys(value).length === 0) {
    const comment = [...meaningOf(path), ...membersOf(path, value), ...originOf(path, value, contract)]
    return [{ path, value, comment, isShownOnly: path.join('.') === resolution && !isResolutionStated(contract) }]
  }
  const entries = Object.entries(value).flatMap(([key, each]) => entriesIn(each, [...path, key], contract))
  const [first, ...others] = entries
  return first === undefined ? [] : [{ ...first, comment: [...membersOf(path, value), ...first.comment] }, ...others]
}

const keys = profileKeys().map(([key, meaning]) => ({ steps: key.split('.'), meaning }))

const isFree = (step: string | undefined): boolean => step?.startsWith('<') === true
const plain = (meaning: string): string => meaning.replaceAll('`', '')

/** What the value at a path means; empty for one below a key that the profile names. */
function meaningOf(path: readonly string[]): readonly string[] {
  const known = keys.find(({ steps }) => steps.join('.') === path.join('.'))
  return known === undefined ? [] : yamlComment(plain(known.meaning))
}

/** What the members mean of a mapping or a list whose keys the profile names, or of one that is null. */
function membersOf(path: readonly string[], value: unknown): readonly string[] {
  return keys
    .filter(({ steps }) => steps.length > path.length && path.every((step, index) => steps[index] === step))
    .filter(({ steps }) => value === null || isFree(steps[path.length]))
    .flatMap(({ steps, meaning }) => yamlComment(`${steps.slice(path.length).join('.')}: ${plain(meaning)}`))
}

/** A comment about a value that the profile states: what it replaces. */
function originOf(path: readonly string[], value: unknown, contract: Contract): readonly string[] {
  const at = path.join('.')
  if (sourceOfValue(contract, at) !== 'profile') return []
  const documented = path.reduce<unknown>((of, step) => (isObject(of) ? of[step] : undefined), documentedContract)
  if (documented === undefined) return ['# FROM THE PROFILE']
  const isSame = JSON.stringify(documented) === JSON.stringify(value)
  const source = sourceOfValue(documentedContract, at) === 'document' ? 'documented' : 'the default'
  const shown = Array.isArray(documented) && documented.some(isObject) ? 'another list' : yamlFlow(documented)
  return yamlComment(`FROM THE PROFILE; ${isSame ? `as ${source}` : `${source}: ${shown}`}`)
}
