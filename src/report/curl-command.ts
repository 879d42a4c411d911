export type CurlRequest = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/** A longer command is of no use to anyone who is to paste it. */
const longestCommand = 20_000

/**
 * The request as a command for a POSIX shell; null where it would be too long. `$NAME` in a header stays a variable of
 * the shell: that is how credentials, which nobody writes down, get into it.
 */
export function curlCommand(baseUrl: string, { method, path, headers, body }: CurlRequest): string | null {
  const parts = [
    'curl -sS -i -N',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    quoted(`${baseUrl}${path}`),
    ...Object.entries(headers).map(([name, value]) => `-H ${header(name, value)}`),
    ...(body === null ? [] : [`--data-raw ${quoted(body)}`]),
  ]
  const command = parts.join(' ')
  return command.length > longestCommand ? null : command
}

const variable = /\$[A-Z][A-Z0-9_]*/g

/** What stands between variables is quoted, so that the shell replaces these alone. An empty value is sent by `;`. */
function header(name: string, value: string): string {
  if (value === '') return quoted(`${name};`)
  const texts = `${name}: ${value}`.split(variable)
  const variables = value.match(variable) ?? []
  return texts.map((text, index) => (text === '' ? '' : quoted(text)) + inQuotes(variables[index])).join('')
}

const inQuotes = (name: string | undefined): string => (name === undefined ? '' : `"${name}"`)

/** In single quotes nothing has a meaning but the quote itself. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
