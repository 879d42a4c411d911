import type { Contract } from './contract.ts'

/** What `make` makes of a contract, made once for each: every answer is judged by it. */
export function perContract<T>(make: (contract: Contract) => T): (contract: Contract) => T {
  const made = new WeakMap<Contract, { readonly value: T }>()
  return contract => {
    const found = made.get(contract)
    if (found !== undefined) return found.value
    const value = make(contract)
    made.set(contract, { value })
    return value
  }
}
