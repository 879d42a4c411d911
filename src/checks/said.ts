import type { Contract } from '../contract/contract.ts'
import { toObject } from '../lib/json.ts'
import type { Answer, StreamRecord } from '../observation/observation.ts'
import { jsonObject } from '../observation/response.ts'

/** What an answer to a chat request with options says, streamed or not, as far as options show in it. */
export type Said = {
  /** The echo of the options; undefined when there is none. */
  readonly echo: unknown
  /** The content of all choices; null when it was not kept. */
  readonly text: string | null
  /** Whether the text may have been cut, by its bound or by whoever kept it. */
  readonly isCut: boolean
  /** Names of the tools that are called. */
  readonly tools: readonly string[]
}

/** No text that is kept of an unstreamed answer is longer. */
const cutAtCharacters = 256

export function saidIn(answer: Answer, { chat }: Contract): Said {
  if (answer.body.kind === 'stream') return saidInStream(answer.body.stream)
  const body = jsonObject(answer)
  const choices = (Array.isArray(body?.choices) ? body.choices : []).map(toObject)
  const messages = choices.map(choice => toObject(choice?.message))
  const texts = messages.flatMap(message => textsOf(message?.content))
  const isCut = choices.some(choice => choice?.finish_reason === 'length')
  return {
    echo: body?.[chat.parametersField],
    text: texts.join('\n'),
    isCut: isCut || texts.some(text => text.length >= cutAtCharacters),
    tools: messages.flatMap(message => toolsOf(message?.tool_calls)),
  }
}

const saidInStream = ({ parameters, text, toolNames, contentCharacters, finishReasons }: StreamRecord): Said => ({
  echo: parameters ?? undefined,
  text,
  isCut: finishReasons.includes('length') || contentCharacters !== text?.length,
  tools: toolNames,
})

function textsOf(content: unknown): readonly string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return content.flatMap(part => {
    const text = toObject(part)?.text
    return typeof text === 'string' ? [text] : []
  })
}

function toolsOf(calls: unknown): readonly string[] {
  if (!Array.isArray(calls)) return []
  return calls.map(call => {
    const name = toObject(toObject(call)?.function)?.name
    return typeof name === 'string' ? name : ''
  })
}
