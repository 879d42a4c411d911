import { UsageError } from '../lib/usage-error.ts'
import { text, type Values } from './flags.ts'

const variable = 'TURNPIKE_REDIS'

/**
 * The URL of `--redis`, or of the environment, where no list of processes shows its password. Throws a UsageError if neither
 * is given.
 */
export function redisUrl(values: Values, environment: NodeJS.ProcessEnv): string {
  const url = text(values, 'redis') ?? (environment[variable] || null)
  if (url !== null) return url
  throw new UsageError({
    where: '--redis',
    got: 'nothing',
    expected: `an address such as redis://127.0.0.1:6379, here or in ${variable}`,
  })
}
