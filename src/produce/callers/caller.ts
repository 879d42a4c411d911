import type { Contract } from '../../contract/contract.ts'
import { type KeyForm, keyHeaders } from '../../contract/requests/credentials.ts'
import type { Rail } from '../../contract/wallets.ts'
import { memoizeByObject } from '../../lib/memoize.ts'

/** Who sends requests. Plain data, so that threads can share it. A secret leaves this folder only in a header. */
export type Caller = KeyCaller | WalletCaller

/** An account and its API keys, if it has any. */
export type KeyCaller = { readonly kind: 'key'; readonly name: string; readonly keys: readonly string[] }

/** A wallet, which signs each of its requests. */
export type WalletCaller = {
  readonly kind: 'wallet'
  readonly name: string
  /** The short name of its chain in the contract. */
  readonly chain: string
  readonly family: Rail['family']
  /** The CAIP-2 id of its network. */
  readonly network: string
  readonly address: string
  /** 64 hexadecimal digits: the number of an EVM key, or the seed of an Ed25519 key. */
  readonly privateKey: string
}

export type Headers = Readonly<Record<string, string>>

const noKey: Headers = {}
/** The headers of each key of a caller, in each form of a key. Every request needs them. */
const headersIn = memoizeByObject((form: KeyForm) =>
  memoizeByObject(({ keys }: KeyCaller): readonly Headers[] => keys.map(key => keyHeaders(form, key))),
)

/** The headers that authenticate the caller with its key at this position, modulo the number of keys. None without keys. */
export function authorize(caller: KeyCaller, position: number, { auth }: Pick<Contract, 'auth'>): Headers {
  const headers = headersIn(auth)(caller)
  return headers[position % headers.length] ?? noKey
}
