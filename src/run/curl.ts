export type CurlRequest = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/** Longer commands are too long to paste into a shell. */
const maxCommandLength = 20_000

/**
 * The request as a command for a POSIX shell; null if it is too long. `$TURNPIKE_KEY` in a header and secrets of the
 * address stay shell variables, so that a report never contains credentials.
 */
export function curlCommand(baseUrl: string, { method, path, headers, body }: CurlRequest): string | null {
  const parts = [
    'curl -sS -i -N',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    shellText(`${baseUrl}${path}`),
    ...Object.entries(headers).map(([name, value]) => `-H ${headerWord(name, value)}`),
    ...(body === null ? [] : [`--data-raw ${quoted(body)}`]),
  ]
  const command = parts.join(' ')
  return command.length > maxCommandLength ? null : command
}

/** A shell variable in a text. */
export const variable = /\$TURNPIKE_[A-Z0-9_]*/g

/** A header as an argument of curl. A `;` makes curl send an empty value. */
export const headerWord = (name: string, value: string): string =>
  value === '' ? quoted(`${name};`) : shellText(`${name}: ${value}`)

/** Quotes the text between variables, so that the shell expands only these. */
export function shellText(text: string): string {
  const variables = text.match(variable) ?? []
  return text
    .split(variable)
    .map((part, index) => (part === '' ? '' : quoted(part)) + inQuotes(variables[index]))
    .join('')
}

const inQuotes = (name: string | undefined): string => (name === undefined ? '' : `"${name}"`)

/** In single quotes, only the single quote itself is special. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
