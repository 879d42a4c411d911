/** Packages that may be missing. They are imported on first use, since most users never need them. */
export type OptionalPackages<T> = {
  /** null: not loaded. */
  readonly loaded: () => T | null
  /** null: a package is not installed. */
  readonly load: () => Promise<T | null>
  readonly names: readonly string[]
  /** What to tell a user if one is not installed. */
  readonly missing: string
}

/** `purpose` begins a sentence, in the plural: `Payments`. */
export function optionalPackages<T>(
  purpose: string,
  names: readonly string[],
  load: () => Promise<T>,
): OptionalPackages<T> {
  let loading: Promise<T | null> | null = null
  let loaded: T | null = null
  return {
    loaded: () => loaded,
    load: () => {
      loading ??= load().then(
        value => {
          loaded = value
          return value
        },
        (cause: unknown) => {
          if (isMissing(cause)) return null
          throw cause
        },
      )
      return loading
    },
    names,
    missing: `${purpose} need packages that are not installed: ${names.join(', ')}. Run npm install --include=optional.`,
  }
}

const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
