/** Simulated USDC of one chain, in memory. Amounts are in the token's smallest unit. */
export type UsdcLedger = {
  /** An address that was never seen has the opening balance. */
  readonly balanceOf: (owner: string) => bigint
  readonly isUsed: (transferId: string) => boolean
  /** Moves an amount once: false if the transfer was made before, or if the balance is too low. */
  readonly transfer: (transferId: string, from: string, to: string, amount: bigint) => boolean
  /** What all addresses together have, and what they opened with: always the same amount. */
  readonly total: () => { readonly held: bigint; readonly opened: bigint }
}

/** `owned`: addresses of the service, which open with nothing. */
export function usdcLedger(opening: bigint, owned: readonly string[]): UsdcLedger {
  const balances = new Map(owned.map(address => [address, 0n]))
  const used = new Set<string>()
  const balanceOf = (owner: string) => balances.get(owner) ?? opening
  return {
    balanceOf,
    isUsed: id => used.has(id),
    transfer: (id, from, to, amount) => {
      if (used.has(id) || amount < 0n || balanceOf(from) < amount) return false
      used.add(id)
      balances.set(from, balanceOf(from) - amount)
      balances.set(to, balanceOf(to) + amount)
      return true
    },
    total: () => ({
      held: [...balances.values()].reduce((sum, each) => sum + each, 0n),
      opened: opening * BigInt(balances.size - owned.length),
    }),
  }
}
