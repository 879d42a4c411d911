import type { ChatOptions } from '../../../../src/contract/chat-options.ts'
import type { Observation, StreamPart, StreamRecord } from '../../../../src/observation/observation.ts'
import { chatDescriptor, completion, observed, refused, responseOf, streamRecord, tokenHeaders } from './observed.ts'

const plain: ChatOptions = { body: {}, parameters: {}, suffix: null, encoding: null, samePrompt: false }
export const asking = (options: Partial<ChatOptions>) => ({
  ...chatDescriptor,
  maxCompletionTokens: 100,
  options: { ...plain, ...options },
})
export const source = (name: string) => ({ title: name, url: `https://example.com/${name}` })
export const defaults = {
  strip_thinking_response: false,
  disable_thinking: false,
  enable_web_search: 'off',
  enable_web_scraping: false,
  enable_web_citations: false,
  include_search_results_in_stream: false,
  return_search_results_as_documents: false,
  include_venice_system_prompt: false,
}
const [choice] = completion.choices

/** `choice: null`: the completion has no choices. */
type Said = { readonly echo?: unknown; readonly content?: unknown; readonly choice?: object | null }

/** A request with these options, and its response with status 200. */
export function answered(
  options: Partial<ChatOptions>,
  { echo, content = 'Hello', choice: changes }: Said = {},
): Observation {
  const choices = [{ ...choice, message: { role: 'assistant', content }, ...changes }]
  const said = { ...completion, choices: changes === null ? undefined : choices }
  return observed(asking(options), responseOf(200, { ...said, service_parameters: echo }, tokenHeaders))
}

export function streamed(parameters: object, stream: Partial<StreamRecord>): Observation {
  const response = responseOf(200, {}, { ...tokenHeaders, 'content-type': 'text/event-stream' })
  const body = { kind: 'stream', stream: { ...streamRecord, text: 'Hello', contentCharacters: 5, ...stream } } as const
  return observed({ ...asking({ parameters: { ...parameters } }), stream: true }, { ...response, body })
}

export const parts = (text: string): Pick<StreamRecord, 'grammar'> => ({
  grammar: text.split(' ').map(part => [part as StreamPart, 1] as const),
})

export const refusal = (options: Partial<ChatOptions>, status = 400) => refused(asking(options), status)
export const search = { enable_web_search: 'on' }
export const cited = { ...search, enable_web_citations: true }
export const inStream = { ...search, include_search_results_in_stream: true }
export const asDocuments = { ...search, return_search_results_as_documents: true }
export const calling = (...names: readonly string[]) => ({
  choice: {
    finish_reason: 'tool_calls',
    stop_reason: null,
    message: { role: 'assistant', tool_calls: names.map(name => ({ type: 'function', function: { name } })) },
  },
})
export const found = (...names: readonly string[]) => ({ web_search_citations: names.map(source) })
export const six = ['a', 'b', 'c', 'd', 'e', 'f']
