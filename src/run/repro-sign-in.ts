import type { Rail, WalletTerms } from '../contract/wallets.ts'
import { quoted } from './curl.ts'

/** A request that a script signs in for. */
export type SignedRequest = {
  readonly id: number
  /** The variable with the private key of the wallet. */
  readonly variable: string
  readonly rail: Rail
}

/**
 * The lines of a script that sign in, once for each request, before the first one is sent. They leave two files for a
 * request: its header, for curl, and the address of its wallet. A private key and a signature stand in no command.
 */
export function signInSteps(requests: readonly SignedRequest[], terms: WalletTerms['signIn']): readonly string[] {
  if (requests.length === 0) return []
  const { header, layouts, domains, uri, statement, validityMs } = terms
  const settings = { header, layout: layouts[0], domain: domains[0], uri, statement, validityMs }
  const rows = requests.map(({ id, variable, rail: { family, network } }) => ({ id, variable, family, network }))
  return [
    '# Signs in: a nonce, a text and a signature for each request of a wallet.',
    `signer=${quoted(program)}`,
    `SIGN_IN=${quoted(JSON.stringify({ settings, rows }))} node --input-type=module -e "$signer" "$target" "$work" || exit 2`,
    '',
  ]
}

/** EVM wallets sign with viem. Node.js signs for Solana, and base58 is a few lines. */
const program = `
import { createPrivateKey, createPublicKey, randomUUID, sign } from "node:crypto"
import { writeFileSync } from "node:fs"

const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
const toBase58 = bytes => {
  let text = ""
  for (let value = BigInt("0x" + bytes.toString("hex")); value > 0n; value /= 58n) text = digits[value % 58n] + text
  return "1".repeat(Math.max(0, bytes.findIndex(byte => byte > 0))) + text
}
const seedOf = text => {
  if (![...text].every(digit => digits.includes(digit)) || text.length < 32) throw new Error("no base58")
  const value = [...text].reduce((sum, digit) => sum * 58n + BigInt(digits.indexOf(digit)), 0n)
  return Buffer.from(value.toString(16).padStart(text.length > 45 ? 128 : 64, "0"), "hex").subarray(0, 32)
}

const wallets = {
  evm: async key => {
    const { privateKeyToAccount } = await import("viem/accounts")
    const { createSiweMessage } = await import("viem/siwe")
    const account = privateKeyToAccount("0x" + key.replace(/^0x/, ""))
    return {
      type: "eip191",
      address: account.address,
      textOf: ({ chainId, issuedAt, expirationTime, statement, ...fields }) =>
        createSiweMessage({
          ...fields,
          ...(statement && { statement }),
          chainId: Number(chainId.split(":")[1]),
          issuedAt: new Date(issuedAt),
          expirationTime: new Date(expirationTime),
        }),
      sign: message => account.signMessage({ message }),
    }
  },
  solana: async key => {
    const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seedOf(key)])
    const own = createPrivateKey({ key: der, format: "der", type: "pkcs8" })
    const address = toBase58(createPublicKey(own).export({ format: "der", type: "spki" }).subarray(-32))
    return {
      type: "ed25519",
      address,
      textOf: each =>
        [
          each.domain + " wants you to sign in with your Solana account:",
          address,
          "",
          ...(each.statement ? [each.statement, ""] : []),
          "URI: " + each.uri,
          "Version: 1",
          "Chain ID: " + each.chainId.split(":")[1],
          "Nonce: " + each.nonce,
          "Issued At: " + each.issuedAt,
          "Expiration Time: " + each.expirationTime,
        ].join("\\n"),
      sign: message => toBase58(sign(null, Buffer.from(message), own)),
    }
  },
}

const [target, work] = process.argv.slice(1)
const { settings, rows } = JSON.parse(process.env.SIGN_IN)
const { host, hostname, origin } = new URL(target)
const { domain = host } = settings
const uri = settings.uri ?? (domain === host || domain === hostname ? origin : "https://" + domain)
try {
  for (const { id, variable, family, network } of rows) {
    const { type, address, textOf, sign } = await wallets[family]((process.env[variable] ?? "").trim())
    const now = Date.now()
    const fields = {
      ...{ domain, address, statement: settings.statement, uri, version: "1" },
      ...{ chainId: network, nonce: randomUUID().replaceAll("-", ""), issuedAt: new Date(now).toISOString() },
      expirationTime: new Date(now + settings.validityMs).toISOString(),
    }
    const message = textOf(fields)
    const signature = await sign(message)
    const payload =
      settings.layout === "fields"
        ? { ...fields, type, signature }
        : { address, message, signature, timestamp: now, chainId: network, type }
    const value = Buffer.from(JSON.stringify(payload)).toString("base64")
    writeFileSync(work + "/" + id + ".sign-in", settings.header + ": " + value + "\\n")
    writeFileSync(work + "/" + id + ".address", address)
  }
} catch (cause) {
  const isMissing = cause.code === "ERR_MODULE_NOT_FOUND"
  console.error(isMissing ? "The package viem is missing. Run: npm install viem" : "No sign-in: is the private key valid?")
  process.exit(2)
}
`
