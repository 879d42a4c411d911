export type CurlRequest = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/** Longer commands are too long to paste into a shell. */
const maxCommandLength = 20_000

/**
 * The request as a command for a POSIX shell; null if it is too long. `$TURNPIKE_KEY` in a header stays a shell variable, so
 * that a report never contains credentials.
 */
export function curlCommand(baseUrl: string, { method, path, headers, body }: CurlRequest): string | null {
  const parts = [
    'curl -sS -i -N',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    quoted(`${baseUrl}${path}`),
    ...Object.entries(headers).map(([name, value]) => `-H ${headerWord(name, value)}`),
    ...(body === null ? [] : [`--data-raw ${quoted(body)}`]),
  ]
  const command = parts.join(' ')
  return command.length > maxCommandLength ? null : command
}

/** A shell variable in the value of a header. */
export const variable = /\$TURNPIKE_[A-Z0-9_]*/g

/** Quotes the text between variables, so that the shell expands only these. A `;` makes curl send an empty value. */
export function headerWord(name: string, value: string): string {
  if (value === '') return quoted(`${name};`)
  const texts = `${name}: ${value}`.split(variable)
  const variables = value.match(variable) ?? []
  return texts.map((text, index) => (text === '' ? '' : quoted(text)) + inQuotes(variables[index])).join('')
}

const inQuotes = (name: string | undefined): string => (name === undefined ? '' : `"${name}"`)

/** In single quotes, only the single quote itself is special. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
