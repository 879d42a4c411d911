import { ownMember } from '../lib/json.ts'
import type { Contract } from './contract.ts'
import { isOpenPath } from './profile-keys.ts'

/** Where a value of the contract comes from. `default`: the document leaves it open, and no profile states it. */
export const allSources = ['document', 'default', 'profile', 'target'] as const
export type Source = (typeof allSources)[number]

type Sources = Contract['sources']

/** The source of the value at `path`. What was stated about a whole mapping holds for its members. */
export const sourceOfValue = ({ sources }: { readonly sources: Sources }, path: string): Source =>
  notedSource(sources, path) ?? (isOpenPath(path) ? 'default' : 'document')

/** Whether the value at `path` is only assumed of the target, so that no judge may assert it. */
export const isAssumed = ({ sources }: { readonly sources: Sources }, path: string): boolean =>
  notedSource(sources, path) === 'default'

function notedSource(sources: Sources, path: string): Source | null {
  for (let at = path; at !== ''; at = parentOf(at)) {
    const source = ownMember(sources, at)
    if (source !== null) return source
  }
  return null
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('.')))
