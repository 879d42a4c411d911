import { z } from 'zod'
import type { DeepReadonly } from '../lib/json.ts'
import { memoizeByObject } from '../lib/memoize.ts'
import { type ClauseId, clauseIds, clauses, isExtra } from './clauses.ts'

/** A clause id, a pattern such as `billing.*`, or a section such as `§4.4`. */
const clausePattern = z
  .string()
  .refine(
    pattern => clausesMatching(pattern).length > 0,
    'the id of a clause, a pattern such as billing.*, or a section such as §4.4',
  )

/** What a target promises: the clauses of `only`, without those of `except`. `only: null` stands for all clauses of the document. */
export const promisesSchema = z.strictObject({
  only: z
    .array(clausePattern)
    .nullable()
    .describe(
      'the clauses that the target promises: ids, patterns such as `rpc.*`, or sections such as `§4.3`; `null` stands for all of the document',
    ),
  except: z.array(clausePattern.describe('clauses that it does not promise, although `promises.only` has them')),
})

/** Without those that a profile must name. */
const documentedIds = clauseIds.filter(id => !isExtra(id))

type Promises = DeepReadonly<z.infer<typeof promisesSchema>>

/** The clauses that a target does not promise, in the order of the clause table. They are never judged. */
export const notPromised = memoizeByObject(
  ({ promises: { only, except } }: { readonly promises: Promises }): readonly ClauseId[] => {
    const promised = new Set(only === null ? documentedIds : only.flatMap(clausesMatching))
    for (const id of except.flatMap(clausesMatching)) promised.delete(id)
    return clauseIds.filter(id => !promised.has(id))
  },
)

/** Whether a target promises at least one clause that matches one of the patterns. */
export function promisesAny(contract: { readonly promises: Promises }, patterns: readonly string[]): boolean {
  const missing = notPromised(contract)
  return patterns.flatMap(clausesMatching).some(id => !missing.includes(id))
}

/** Short for a list of clauses: `header.*` for all clauses whose ids start so, if the list has them all. */
export function asPatterns(ids: readonly ClauseId[]): readonly string[] {
  const groupOf = (id: ClauseId) => `${id.split('.')[0]}.*`
  const isWhole = (group: string) => clausesMatching(group).every(id => ids.includes(id))
  return [...new Set(ids.map(id => (isWhole(groupOf(id)) ? groupOf(id) : id)))]
}

/** What a target leaves out of the document, as patterns. */
export const missingPatterns = (ids: readonly ClauseId[]): readonly string[] =>
  asPatterns(ids).filter(pattern => !clausesMatching(pattern).every(isExtra))

/** The clauses with this id, of this pattern such as `billing.*`, or of this section such as `§4`, which contains §4.4. */
export function clausesMatching(pattern: string): readonly ClauseId[] {
  if (pattern.startsWith('§')) {
    const section = pattern.slice(1)
    return clauseIds.filter(id => clauses[id].section === section || clauses[id].section.startsWith(`${section}.`))
  }
  const parts = pattern.split('*')
  return clauseIds.filter(id => isMatch(id, parts))
}

/** Whether a text is these parts in a row, with anything between them. Takes linear time, unlike a regular expression. */
function isMatch(text: string, [first = '', ...others]: readonly string[]): boolean {
  const last = others.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first)) return false
  let from = first.length
  for (const part of others) {
    const at = text.indexOf(part, from)
    if (at < 0) return false
    from = at + part.length
  }
  return text.endsWith(last) && from + last.length <= text.length
}
