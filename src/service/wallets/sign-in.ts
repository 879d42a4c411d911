import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { SignInRefusal, WalletTerms } from '../../contract/wallets.ts'
import { fromBase58 } from '../../lib/base58.ts'
import { isObject, type JsonObject, parseObject, plainText } from '../../lib/json.ts'
import type { ServiceRequest } from '../message.ts'
import { type EvmSignatures, evmSignatures } from './evm-signatures.ts'
import { accountAddress } from './identity.ts'
import { parseSolanaText, type SignInText, textOfFields, walletFamilyOf } from './sign-in-text.ts'

/** A wallet that signed in, or why it is refused. `unavailable`: the packages for it are not loaded. */
export type SignIn =
  | { readonly kind: 'signed-in'; readonly address: string }
  | { readonly kind: 'refused'; readonly refusal: SignInRefusal }
  | { readonly kind: 'unavailable' }

/** What a sign-in states, the request that carries it, and when; null: unknown. */
export type SignInAttempt = {
  readonly text: SignInText | null
  readonly request: ServiceRequest | null
  /** When it arrived, in Unix milliseconds. */
  readonly nowMs: number
}

/** The last word on a sign-in; null accepts it. */
export type SignInRule = (refusal: SignInRefusal | null, attempt: SignInAttempt) => SignInRefusal | null

/**
 * Checks sign-ins. A nonce is used up as soon as the signature is valid, whatever comes of the request. `domain` is the
 * one to sign in for, unless the contract lists others.
 */
export function signInChecker(
  terms: WalletTerms,
  rule: SignInRule,
): (header: string, domain: string, nowMs: number, request?: ServiceRequest) => SignIn {
  const { signIn } = terms
  const nonces = usedNonces(signIn.nonceMemoryMs)
  const isSignedOnSolana = solanaSignatures()

  return (header, domain, nowMs, request) => {
    const judged = (found: SignInRefusal | null, text: SignInText | null): SignIn => {
      const refusal = rule(found, { text, request: request ?? null, nowMs })
      if (refusal === null && text !== null) return { kind: 'signed-in', address: text.address }
      return { kind: 'refused', refusal: refusal ?? found ?? 'message' }
    }
    const payload = parseObject(Buffer.from(header, 'base64').toString('utf8'))
    const signed = payload === null ? null : signedText(payload, signIn.layouts)
    if (payload === null || signed === null) return judged('payload', null)
    const family = walletFamilyOf(signed.message)
    if (family === null) return judged('message', null)
    const evm = evmSignatures.loaded()
    if (family === 'evm' && evm === null) return { kind: 'unavailable' }
    const text = family === 'evm' ? (evm?.parse(signed.message) ?? null) : parseSolanaText(signed.message)
    if (text === null) return judged('message', null)
    const refusal =
      faultOf(text, payload, domain, nowMs) ??
      (isSigned(evm, text, signed) ? null : ('signature' as const)) ??
      (nonces.use(`${text.address}/${text.nonce}`, nowMs) ? null : ('replayed' as const))
    return judged(refusal, text)
  }

  /** Everything that costs no arithmetic of curves. */
  function faultOf(text: SignInText, payload: JsonObject, domain: string, nowMs: number): SignInRefusal | null {
    const { address, chainId, timestamp } = payload
    const { issuedMs } = text
    if (typeof address !== 'string' || accountAddress(address) !== text.address) return 'address'
    if (!isAcceptedChain(text, chainId)) return 'chain'
    const domains = signIn.domains.length === 0 ? [domain] : signIn.domains
    if (!domains.includes(text.domain)) return 'domain'
    if (text.nonce === null || text.nonce.length < signIn.shortestNonce) return 'nonce'
    if (typeof timestamp === 'number' && !(Math.abs(timestamp - issuedMs) <= signIn.timestampSkewMs)) return 'timestamp'
    if (!(issuedMs <= nowMs + signIn.futureSkewMs)) return 'future'
    if (nowMs > issuedMs + signIn.validityMs || (text.expiresMs !== null && !(nowMs <= text.expiresMs)))
      return 'expired'
    return text.notBeforeMs !== null && !(nowMs >= text.notBeforeMs) ? 'early' : null
  }

  function isAcceptedChain({ family, chain }: SignInText, stated: unknown): boolean {
    const rail = Object.values(terms.rails).find(each => each.family === family && each.network.split(':')[1] === chain)
    if (rail === undefined) return false
    return stated === undefined || plainText(stated) === rail.network || plainText(stated) === chain
  }

  function isSigned(evm: EvmSignatures | null, { family, address }: SignInText, { message, signature }: Signed) {
    if (family === 'solana') return isSignedOnSolana(message, signature, address)
    return evm?.isSignedBy(message, signature, address) === true
  }
}

type Signed = { readonly message: string; readonly signature: string }

function signedText(payload: JsonObject, layouts: WalletTerms['signIn']['layouts']): Signed | null {
  const { message, signature } = payload
  if (typeof signature !== 'string') return null
  if (typeof message === 'string') return layouts.includes('message') ? { message, signature } : null
  const built = layouts.includes('fields') && isObject(payload) ? textOfFields(payload) : null
  return built === null ? null : { message: built, signature }
}

/** The nonces of the last `memoryMs`. */
function usedNonces(memoryMs: number): { readonly use: (nonce: string, nowMs: number) => boolean } {
  /** The nonce and when it may be forgotten, oldest first. */
  const used = new Map<string, number>()
  return {
    /** False if the nonce was used before. */
    use: (nonce, nowMs) => {
      for (const [old, untilMs] of used) {
        if (untilMs > nowMs) break
        used.delete(old)
      }
      if (used.has(nonce)) return false
      used.set(nonce, nowMs + memoryMs)
      return true
    },
  }
}

/** Checks signatures of Solana wallets (Ed25519). An address is a public key in base58. */
function solanaSignatures(): (message: string, signature: string, address: string) => boolean {
  const keys = new Map<string, KeyObject>()
  const keyOf = (address: string): KeyObject | null => {
    const known = keys.get(address)
    if (known !== undefined) return known
    const raw = fromBase58(address)
    if (raw?.length !== 32) return null
    const key = createPublicKey({ key: Buffer.concat([keyHeader, raw]), format: 'der', type: 'spki' })
    const [oldest] = keys.keys()
    if (keys.size >= rememberedKeys && oldest !== undefined) keys.delete(oldest)
    keys.set(address, key)
    return key
  }
  return (message, signature, address) => {
    const key = keyOf(address)
    const bytes = signatureBytes(signature)
    return key !== null && bytes !== null && verify(null, Buffer.from(message), key, bytes)
  }
}

const rememberedKeys = 10_000
const signatureLength = 64

/** What precedes the 32 bytes of an Ed25519 key in its DER encoding (RFC 8410). */
const keyHeader = Buffer.from('302a300506032b6570032100', 'hex')

/** A signature in base58 or base64; null if it is neither. */
function signatureBytes(text: string): Buffer | null {
  const bytes = fromBase58(text)
  if (bytes?.length === signatureLength) return bytes
  const decoded = /^[A-Za-z0-9+/]{86}(==)?$/.test(text) ? Buffer.from(text, 'base64') : null
  return decoded?.length === signatureLength ? decoded : null
}
