/** A request that was refused for a limit. */
export type Refusal = {
  readonly modelId: string
  /** Requests or tokens a minute. */
  readonly limit: 'RPM' | 'TPM'
  readonly atMs: number
}

export type LogRow = {
  readonly apiKeyId: string
  readonly modelId: string
  readonly rateLimitTier: string
  readonly rateLimitType: string
  readonly timestamp: string
}
