import { UsageError } from '../../lib/usage-error.ts'

/** Optional packages by name, loaded on first use, because most users have no wallets and need not install them. */
export type OptionalPackages<T> = {
  /** null: not loaded yet, or not installed. */
  readonly loaded: () => T | null
  /** Rejects with a UsageError that says what to install. */
  readonly load: () => Promise<T>
}

export function optionalPackages<T>(names: readonly string[], load: () => Promise<T>): OptionalPackages<T> {
  let loading: Promise<T> | null = null
  let loaded: T | null = null
  return {
    loaded: () => loaded,
    load: () => {
      loading ??= load().then(
        value => {
          loaded = value
          return value
        },
        cause => {
          throw isMissing(cause) ? missing(names) : cause
        },
      )
      return loading
    },
  }
}

const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'

const missing = (names: readonly string[]): UsageError =>
  new UsageError({
    where: 'wallets',
    got: 'no installed packages for them',
    expected: names.join(', '),
    hint: 'install Turnpike without --omit=optional',
  })
