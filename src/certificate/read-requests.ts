export type PlainRequest = { readonly method: string; readonly body: string }

const headEnd = '\r\n\r\n'
const longestRequest = 1_048_576

/**
 * Takes the bytes of a connection and gives its requests, one after the other. Of HTTP/1.1 it knows what a client of ours
 * sends: a head, and a body of an announced length. False: it is something else, or too long.
 */
export function readRequests(onRequest: (request: PlainRequest) => void): (bytes: Buffer) => boolean {
  let text = ''
  return bytes => {
    text += bytes.toString('latin1')
    for (let end = text.indexOf(headEnd); end !== -1; end = text.indexOf(headEnd)) {
      const head = text.slice(0, end)
      const bodyStart = end + headEnd.length
      const bodyEnd = bodyStart + Number(/^content-length: *(\d{1,9})$/im.exec(head)?.[1] ?? 0)
      if (bodyEnd > longestRequest) return false
      if (text.length < bodyEnd) break
      const [method = ''] = head.split(' ', 1)
      const body = text.slice(bodyStart, bodyEnd)
      text = text.slice(bodyEnd)
      onRequest({ method, body })
    }
    return text.length <= longestRequest
  }
}
