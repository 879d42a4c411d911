import { quote } from '../lib/format.ts'
import { is2xx, isFromGateway } from '../observation/response.ts'
import { type Check, expecting } from './check.ts'

/** Whether answers are compressed where that was asked for, as it was asked for, and nowhere else. */
export const checkCompression: Check<'compression'> = ({ answer, asked, seq, outcome }, contract, say) => {
  if (answer === null || asked.kind === 'probe' || isFromGateway(answer, contract)) return
  const wanted = asked.kind === 'chat' ? (asked.options?.encoding ?? null) : null
  const encoding = encodingOf(answer.headers['content-encoding'])
  const expect = expecting(say, seq)
  if (wanted === null) {
    const isPlain = encoding === null
    return expect('header.content-encoding', isPlain, () => `content-encoding is ${quote(encoding)}, expected none`)
  }
  if (outcome.kind === 'answered' && answer.body.kind === 'undecodable') {
    const { body } = answer
    return expect('chat.compression.body', false, () => `the body is no ${body.encoding}: ${body.why}`)
  }
  if (!is2xx(answer.status) || asked.kind !== 'chat') return
  if (asked.stream) {
    const isPlain = encoding === null
    return expect('chat.compression.stream', isPlain, () => `a stream is encoded as ${quote(encoding)}, expected none`)
  }
  if (encoding !== null && outcome.kind === 'answered') say.kept('chat.compression.body')
  const allowed = namesIn(wanted).filter(name => documented.includes(name))
  if (encoding === null && (allowed.length === 0 || contract.chat.compression === 'optional')) return
  expect(
    'chat.compression',
    encoding !== null && allowed.includes(encoding),
    () =>
      `content-encoding is ${quote(encoding)} for accept-encoding ${quote(wanted)}, expected ${allowed.join(' or ')}`,
  )
}

const documented: readonly string[] = ['gzip', 'br']

/** Null where a body is sent as it is. */
function encodingOf(header: string | undefined): string | null {
  const encoding = header?.trim().toLowerCase() ?? ''
  return encoding === '' || encoding === 'identity' ? null : encoding
}

/** The encodings of an Accept-Encoding header that are not ruled out by a weight of 0. */
const namesIn = (header: string): readonly string[] =>
  header
    .toLowerCase()
    .split(',')
    .filter(each => !/;\s*q=0(\.0*)?\s*$/.test(each))
    .map(each => each.replace(/;.*/, '').trim())
