import { isDeepStrictEqual } from 'node:util'
import { quote } from '../../lib/format.ts'
import { isObject, isPresent, type JsonObject, parseJson, toObject } from '../../lib/json.ts'
import { oneOf } from '../../lib/usage-error.ts'
import { type ObservedResponse, recordedLength, type StreamRecord } from '../../observation/observation.ts'
import type { ChatDescriptor } from '../../observation/requests/chat.ts'
import { is2xx, jsonObject } from '../../observation/response.ts'
import { type Check, type Expect, expectFor } from './check.ts'

/** Checks that calls of the offered tools have arguments that are JSON and fit, and so has the content if it must be JSON. */
export const checkChatJson: Check<'chat-json', ChatDescriptor> = ({ request, response, id }, _, reporter) => {
  const { tools, response_format: format, tool_choice: choice } = request.options?.body ?? {}
  if (response === null || !is2xx(response.status)) return
  const offered = Array.isArray(tools) ? tools.map(tool => toObject(toObject(tool)?.function)) : null
  const wanted = wantedJson(format)
  if (offered === null && wanted === null) return
  const expect = expectFor(reporter, id)
  for (const { finish, content, calls, hasCalls } of answersIn(response)) {
    if (!complete.includes(finish)) continue
    if (offered !== null && choice === 'required' && !hasCalls)
      expect(
        'chat.json.arguments',
        false,
        () => 'an answer has no call of a tool, expected one as tool_choice requires',
      )
    if (offered !== null) for (const call of calls) checkArguments(call, offered, expect)
    // A refusal has no content, and with a call of a tool it is beside it.
    if (wanted === null || content === null || content === '' || calls.length > 0) continue
    const wrong = wrongJson('the content', content, wanted.schema)
    expect('chat.json.content', wrong === null, () => wrong ?? '')
  }
}

/** How a choice ends that was not cut. */
const complete: readonly unknown[] = ['stop', 'tool_calls', 'function_call']

/** null: the request does not ask for JSON. */
function wantedJson(format: unknown): { readonly schema: unknown } | null {
  const { type, json_schema: named } = toObject(format) ?? {}
  if (type === 'json_schema') return { schema: toObject(named)?.schema }
  return type === 'json_object' ? { schema: undefined } : null
}

type Call = { readonly name: unknown; readonly said: unknown }

export type ChoiceAnswer = {
  readonly finish: unknown
  /** null: not all of it is known. */
  readonly content: string | null
  /** The first characters of the content, as many as every record keeps; null: it is not known. */
  readonly beginning: string | null
  /** Those whose arguments are known whole. */
  readonly calls: readonly Call[]
  /** Also true of a refusal, which need not have any. */
  readonly hasCalls: boolean
}

/** What each choice says. A stream counts as one. */
export const answersIn = (response: ObservedResponse): readonly ChoiceAnswer[] =>
  response.body.kind === 'stream' ? [answerOfStream(response.body.stream)] : answersOfBody(jsonObject(response))

/** Of several choices it is not known which one has which text, so all must be complete. */
function answerOfStream({
  finishReasons,
  indices,
  text,
  contentCharacters,
  toolCalls = [],
}: StreamRecord): ChoiceAnswer {
  const isWhole = indices.length <= 1 && text !== null && text.length === contentCharacters
  return {
    finish: finishReasons.find(reason => !complete.includes(reason)) ?? finishReasons[0],
    content: isWhole ? text : null,
    beginning: indices.length <= 1 ? (text?.slice(0, recordedLength.body) ?? null) : null,
    calls: toolCalls.flatMap(({ name, arguments: said }) =>
      said.length < recordedLength.stream ? [{ name, said }] : [],
    ),
    hasCalls: indices.length > 1 || toolCalls.length > 0,
  }
}

const answersOfBody = (body: JsonObject | null): readonly ChoiceAnswer[] =>
  (Array.isArray(body?.choices) ? body.choices : []).map(choice => {
    const { message, finish_reason: finish } = toObject(choice) ?? {}
    const { content, tool_calls: calls, refusal } = toObject(message) ?? {}
    return {
      finish,
      hasCalls: (Array.isArray(calls) && calls.length > 0) || isPresent(refusal),
      content: typeof content === 'string' && content.length !== recordedLength.body ? content : null,
      beginning: typeof content === 'string' ? content.slice(0, recordedLength.body) : null,
      calls: (Array.isArray(calls) ? calls : []).flatMap(call => {
        const { name, arguments: said } = toObject(toObject(call)?.function) ?? {}
        return typeof said === 'string' && said.length === recordedLength.body ? [] : [{ name, said }]
      }),
    }
  })

/** A tool without parameters needs no arguments. A tool of the service, which the request did not offer, may have any. */
function checkArguments(
  { name, said }: Call,
  offered: readonly (JsonObject | null)[],
  expect: Expect<'chat.json.arguments'>,
): void {
  const schema = offered.find(tool => tool?.name === name)?.parameters
  const text = isPresent(said) && said !== '' ? said : '{}'
  const what = `the arguments of ${quote(name)}`
  const wrong = typeof text === 'string' ? wrongJson(what, text, schema) : `${what} are ${quote(said)}, expected a text`
  expect('chat.json.arguments', wrong === null, () => wrong ?? '')
}

/** The characters at the end of a text that a message shows: they tell where it was cut. */
const shownEnd = 40

/** What is wrong with a text that must be JSON and fit a schema; null: nothing. */
function wrongJson(what: string, text: string, schema: unknown): string | null {
  const value = parseJson(text)
  if (value === undefined) return `the end of ${what} is ${quote(text.slice(-shownEnd))}, expected a whole JSON text`
  const wrong = misfit(value, schema, [])
  return wrong === null ? null : `in ${what}, ${wrong}`
}

/** A schema with one of these says more than is read here, so no value misfits it. */
const unread = ['$ref', 'anyOf', 'oneOf', 'allOf', 'not', 'if'] as const

/** The first value that does not have its type, its required members, or one of its values; null: there is none. */
function misfit(value: unknown, written: unknown, path: readonly (string | number)[]): string | null {
  const schema = toObject(written)
  if (schema === null || unread.some(name => Object.hasOwn(schema, name))) return null
  const got = `${path.length === 0 ? 'the value' : path.join('.')} is ${quote(value)}`
  const types = [schema.type].flat().filter(type => typeof type === 'string')
  if (schema.nullable === true) types.push('null')
  if (types.length > 0 && !types.some(type => isOf(type, value))) return `${got}, expected the type ${oneOf(types)}`
  const { enum: values, required, properties, items } = schema
  if (Array.isArray(values) && !values.some(each => isDeepStrictEqual(each, value)))
    return `${got}, expected one of ${quote(values)}`
  if (Array.isArray(value)) return firstOf(value.entries(), ([index, each]) => misfit(each, items, [...path, index]))
  if (!isObject(value)) return null
  const missing = (Array.isArray(required) ? required : []).find(name => !Object.hasOwn(value, String(name)))
  if (missing !== undefined)
    return `${[...path, missing].join('.')} is missing in ${quote(value)}, expected this property`
  return firstOf(Object.entries(toObject(properties) ?? {}), ([name, of]) =>
    Object.hasOwn(value, name) ? misfit(value[name], of, [...path, name]) : null,
  )
}

function firstOf<Each>(each: Iterable<Each>, find: (one: Each) => string | null): string | null {
  for (const one of each) {
    const found = find(one)
    if (found !== null) return found
  }
  return null
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case 'object':
      return isObject(value)
    case 'array':
      return Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    case 'null':
      return value === null
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type
    default:
      return true
  }
}
