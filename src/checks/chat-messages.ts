import { toObject } from '../lib/json.ts'

type OfMessages = 'chat.request.message' | 'chat.request.text-part' | 'chat.request.cache-control'

/**
 * The clause by which these messages have to be taken: of the rarest thing that is in them. Null where they may be
 * refused: a part that only some models read, and a ttl, which takes a header that is not documented.
 */
export function clauseOfMessages(messages: unknown): OfMessages | null {
  if (!Array.isArray(messages) || messages.length === 0) return null
  let clause: OfMessages = 'chat.request.message'
  for (const message of messages) {
    const { role, content } = toObject(message) ?? {}
    if (role !== 'user' && role !== 'system') return null
    if (typeof content === 'string' && content !== '') continue
    if (!Array.isArray(content) || content.length === 0) return null
    for (const part of content) {
      const { type, text, cache_control: control, ...others } = toObject(part) ?? {}
      if (type !== 'text' || typeof text !== 'string' || text === '' || Object.keys(others).length > 0) return null
      if (control === undefined) {
        if (clause === 'chat.request.message') clause = 'chat.request.text-part'
      } else if (isEphemeral(control)) clause = 'chat.request.cache-control'
      else return null
    }
  }
  return clause
}

function isEphemeral(control: unknown): boolean {
  const members = toObject(control)
  return members?.type === 'ephemeral' && Object.keys(members).length === 1
}
