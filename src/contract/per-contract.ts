import type { Contract } from './contract.ts'

/** What `make` makes of a contract, made once for a run, which has one: every answer is judged by it. */
export function perContract<T>(make: (contract: Contract) => T): (contract: Contract) => T {
  let last: { readonly contract: Contract; readonly value: T } | null = null
  return contract => {
    if (last === null || last.contract !== contract) last = { contract, value: make(contract) }
    return last.value
  }
}
