import { plainText } from '../../lib/json.ts'

/** The text that a wallet signs to sign in, as far as the service reads it. Times are Unix milliseconds. */
export type SignInText = {
  readonly family: 'evm' | 'solana'
  readonly domain: string
  /** In lower case for an EVM wallet. */
  readonly address: string
  /** The reference of a CAIP-2 id, such as `8453`; null: missing. */
  readonly chain: string | null
  readonly nonce: string | null
  readonly issuedMs: number
  readonly expiresMs: number | null
  readonly notBeforeMs: number | null
}

const accountKinds = { Ethereum: 'evm', Solana: 'solana' } as const

/** The kind of wallet that a text names; null if it is not a sign-in. */
export function walletFamilyOf(text: string): SignInText['family'] | null {
  const kind = /^[^\n]+ wants you to sign in with your (Ethereum|Solana) account:\n/.exec(text)?.[1]
  return kind === 'Ethereum' || kind === 'Solana' ? accountKinds[kind] : null
}

/** The sign-in text of a Solana wallet; null if it is none. */
export function parseSolanaText(text: string): SignInText | null {
  const [, domain, address] =
    /^([^\n]+) wants you to sign in with your Solana account:\n([1-9A-HJ-NP-Za-km-z]{32,44})\n/.exec(text) ?? []
  const field = (name: string) => new RegExp(`^${name}: (.+)$`, 'm').exec(text)?.[1] ?? null
  const time = (name: string) => {
    const written = field(name)
    return written === null ? null : Date.parse(written)
  }
  const issuedMs = time('Issued At')
  if (domain === undefined || address === undefined || field('URI') === null) return null
  if (field('Version') !== '1' || issuedMs === null) return null
  return {
    family: 'solana',
    domain,
    address,
    chain: field('Chain ID')?.replace(/^solana:/, '') ?? null,
    nonce: field('Nonce'),
    issuedMs,
    expiresMs: time('Expiration Time'),
    notBeforeMs: time('Not Before'),
  }
}

/** The text that the fields of a sign-in stand for; null if one of them is missing. Lines are those of EIP-4361. */
export function textOfFields(fields: Readonly<Record<string, unknown>>): string | null {
  const { domain, address, statement, uri, version, chainId, nonce, issuedAt, resources } = fields
  if (typeof domain !== 'string' || typeof address !== 'string' || typeof uri !== 'string') return null
  const [namespace, reference] = plainText(chainId).split(':')
  const kind = namespace === 'solana' ? 'Solana' : 'Ethereum'
  const optional = (name: string, value: unknown) => (typeof value === 'string' ? [`${name}: ${value}`] : [])
  return [
    `${domain} wants you to sign in with your ${kind} account:`,
    address,
    '',
    ...(typeof statement === 'string' ? [statement, ''] : []),
    `URI: ${uri}`,
    `Version: ${plainText(version)}`,
    `Chain ID: ${reference ?? namespace}`,
    `Nonce: ${plainText(nonce)}`,
    `Issued At: ${plainText(issuedAt)}`,
    ...optional('Expiration Time', fields.expirationTime),
    ...optional('Not Before', fields.notBefore),
    ...optional('Request ID', fields.requestId),
    ...(Array.isArray(resources) ? ['Resources:', ...resources.map(each => `- ${plainText(each)}`)] : []),
  ].join('\n')
}
