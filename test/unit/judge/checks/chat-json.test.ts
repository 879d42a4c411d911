import { describe } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { Observation, StreamRecord } from '../../../../src/observation/observation.ts'
import { failsEach, passesEach } from './observed.ts'
import { answered, asking, parts, streamed } from './optioned.ts'

const contract = { ...documentedContract, promises: { only: ['chat.json.*'], except: [] } }
const schema = {
  type: 'object',
  properties: {
    item: { type: 'string', enum: ['tea', 'milk'] },
    count: { type: ['integer', 'null'] },
    parts: { type: 'array', items: { type: 'object', required: ['name'] } },
    other: { anyOf: [{ type: 'string' }], type: 'number' },
  },
  required: ['item'],
}
const offered = {
  tools: [
    { type: 'function', function: { name: 'order', parameters: schema } },
    { type: 'function', function: { name: 'stop' } },
  ],
}
const asSchema = { response_format: { type: 'json_schema', json_schema: { name: 'order', schema } } }
const asObject = { response_format: { type: 'json_object' } }

const called = (said: unknown, name = 'order', finish = 'tool_calls', body: object = offered) =>
  answered(
    { body: { ...body } },
    {
      choice: {
        finish_reason: finish,
        stop_reason: null,
        message: { role: 'assistant', tool_calls: [{ type: 'function', function: { name, arguments: said } }] },
      },
    },
  )
const said = (content: string, body: object = asSchema, finish = 'stop') =>
  answered({ body: { ...body } }, { content, choice: { finish_reason: finish, stop_reason: null } })

function inStream(body: object, stream: Partial<StreamRecord>): Observation {
  const { request, ...observation } = streamed({}, { ...parts('role content finish usage done'), ...stream })
  return { ...observation, request: { ...asking({ body: { ...body } }), stream: true } }
}
const calledIn = (said: string, finish = 'tool_calls'): Partial<StreamRecord> => ({
  ...parts('role tool-call finish usage done'),
  finishReasons: [finish],
  text: '',
  contentCharacters: 0,
  toolCalls: [{ name: 'order', arguments: said }],
})
const calledInStream = (said: string, finish = 'tool_calls') => inStream(offered, calledIn(said, finish))
const required = { ...offered, tool_choice: 'required' }
const saidInStream = (text: string, more: Partial<StreamRecord> = {}) =>
  inStream(asSchema, { text, contentCharacters: text.length, ...more })

describe('arguments of tool calls', () => {
  passesEach(
    {
      'that fit': called('{"item":"tea","count":2,"parts":[{"name":"a"}],"more":1}'),
      'with null where it is allowed': called('{"item":"tea","count":null}'),
      'of a schema with alternatives': called('{"item":"tea","other":"x"}'),
      'that are empty, for a tool without parameters': called('', 'stop'),
      'that are left out, for a tool without parameters': called(undefined, 'stop'),
      'of a tool that must be called': called('{"item":"tea"}', 'order', 'tool_calls', required),
      'of a tool that must be called, in a stream': inStream(required, calledIn('{"item":"tea"}')),
      'that must be there, in an answer that was cut': said('', required, 'length'),
      'that must be there, in a refusal': answered(
        { body: { ...required } },
        {
          choice: {
            finish_reason: 'stop',
            stop_reason: null,
            message: { role: 'assistant', content: 'No.', refusal: 'No.' },
          },
        },
      ),
      'that need not be there': said('No.', { ...offered, tool_choice: 'auto' }),
      'of a tool that nobody offered': called('{"any":1}', 'search'),
      'that were cut for their length': called('{"item":"te', 'order', 'length'),
      'of a record that may have cut them': called(`{"item":"${'a'.repeat(247)}`),
      'of a request without tools': called('{"item', 'order', 'tool_calls', {}),
      'in a stream': calledInStream('{"item":"milk"}'),
      'in a stream that was cut': calledInStream('{"item', 'length'),
      'in a stream, too long for a record': calledInStream(`{"item":"${'a'.repeat(4_087)}`),
    },
    contract,
  )
  failsEach(
    {
      'that must be there': [
        'chat.json.arguments',
        'an answer has no call of a tool, expected one as tool_choice requires',
        said('No.', required),
      ],
      'that must be there, in a stream': [
        'chat.json.arguments',
        'an answer has no call of a tool, expected one as tool_choice requires',
        inStream(required, { text: 'No.', contentCharacters: 3 }),
      ],
      'that are cut': [
        'chat.json.arguments',
        'the end of the arguments of "order" is "{\\"item\\":\\"te", expected a whole JSON text',
        called('{"item":"te'),
      ],
      'that are no text': [
        'chat.json.arguments',
        'the arguments of "order" are {"item":"tea"}, expected a text',
        called({ item: 'tea' }),
      ],
      'that are no object': [
        'chat.json.arguments',
        'in the arguments of "order", the value is [1], expected the type object',
        called('[1]'),
      ],
      'that are empty': [
        'chat.json.arguments',
        'in the arguments of "order", item is missing in {}, expected this property',
        called(''),
      ],
      'without a required property in a list': [
        'chat.json.arguments',
        'in the arguments of "order", parts.1.name is missing in {}, expected this property',
        called('{"item":"tea","parts":[{"name":1},{}]}'),
      ],
      'of another value': [
        'chat.json.arguments',
        'in the arguments of "order", item is "coffee", expected one of ["tea","milk"]',
        called('{"item":"coffee"}'),
      ],
      'of another type': [
        'chat.json.arguments',
        'in the arguments of "order", count is 1.5, expected the type integer or null',
        called('{"item":"tea","count":1.5}'),
      ],
      'in a stream': [
        'chat.json.arguments',
        'the end of the arguments of "order" is "{\\"item\\":\\"milk\\"}{", expected a whole JSON text',
        calledInStream('{"item":"milk"}{'),
      ],
    },
    contract,
  )
})

describe('content that must be JSON', () => {
  passesEach(
    {
      'that fits': said('{"item":"tea"}'),
      'of any form': said('[1]', asObject),
      'that was cut for its length': said('{"item', asSchema, 'length'),
      'that is empty, as that of a refusal': said(''),
      'that must be text only': said('Hello', { response_format: { type: 'text' } }),
      'in a stream': saidInStream('{"item":"milk"}'),
      'in a stream, of which a record has the beginning': saidInStream('{"item":"milk', { contentCharacters: 5_000 }),
      'in a stream that was cut': saidInStream('{"item', { finishReasons: ['length'] }),
    },
    contract,
  )
  failsEach(
    {
      'that is text': [
        'chat.json.content',
        'the end of the content is "```json {}```", expected a whole JSON text',
        said('```json {}```', asObject),
      ],
      'that lacks a property': [
        'chat.json.content',
        'in the content, item is missing in {"count":1}, expected this property',
        said('{"count":1}'),
      ],
      'in a stream': [
        'chat.json.content',
        'the end of the content is "{\\"item\\":\\"milk\\"", expected a whole JSON text',
        saidInStream('{"item":"milk"'),
      ],
    },
    contract,
  )
})
