import type { ClauseRows } from '../clause.ts'
import { money } from './billing.ts'

/** What a violation hides if completions, streams or choices cannot be read. */
export const completions = [
  'chat.usage',
  'chat.usage.sum',
  'chat.usage.text',
  'chat.usage.cached',
  'chat.usage.cached.new',
  'chat.usage.details',
  'chat.max-completion-tokens',
  'chat.cost',
  'chat.cost.amount',
  'chat.cost.cached',
  'chat.choice.length',
  'parameters.price',
] as const

export const streams = [
  'chat.stream.chunk',
  'chat.stream.index',
  'chat.stream.delta',
  'chat.stream.done',
  'chat.stream.finish',
  'chat.stream.usage',
  'parameters.results-in-stream',
] as const

const choices = [
  'chat.choice.finish-reason',
  'chat.choice.stop-reason',
  'chat.choice.tool-calls',
  'chat.message',
  'chat.message.members',
  'chat.logprobs',
  'chat.logprobs.asked',
  'chat.logprobs.top',
] as const

/** Completions: required fields, finish reasons, messages and tokens, then the valid and invalid requests. */
export const chatClauses = {
  'chat.status': ['4.2', ['chat-response', 'chat-stream'], 'A completion has the status 200.'],
  'chat.content-type': ['4.2', 'chat-response', 'An unstreamed completion is application/json.'],
  'chat.media-type': ['4.2', 'probe', 'A chat request that is not application/json gets a 415.'],
  'chat.id': [
    '2.4',
    ['chat-response', 'chat-stream', 'unique-ids'],
    'A completion has a string id, and no other completion has the same.',
    { exercisedBy: 'chat' },
  ],
  'chat.object': [
    '2.4',
    'chat-response',
    'The object of a completion is chat.completion.',
    { hides: ['completions are unreadable', ['chat.choice', 'chat.logprobs', 'chat.logprobs.asked', ...completions]] },
  ],
  'chat.created': ['2.4', ['chat-response', 'chat-stream'], 'created is the Unix time at which the request was made.'],
  'chat.model': ['2.4', ['chat-response', 'chat-stream'], 'A completion names the model used.'],
  'chat.choice': [
    '2.4',
    'chat-response',
    'A choice has a message and the key logprobs. Its index, if present, is a position in the list.',
    { hides: ['completions have no readable choices', choices] },
  ],
  'chat.choice.finish-reason': ['2.4', ['chat-response', 'chat-stream'], 'finish_reason is stop, length or tool_calls.'],
  'chat.isolation': [
    '2.4',
    ['chat-response', 'chat-stream'],
    'A completion has nothing that only another request asked for.',
    { needs: 'a chat call with a canary that the model repeats', exercisedBy: 'chat' },
  ],
  'chat.message': ['2.4', 'chat-response', 'The message of a choice is an assistant or tool message with content or tool_calls.'],
  'chat.usage': [
    '2.4',
    ['chat-response', 'chat-stream'],
    'usage has integer prompt_tokens, completion_tokens and total_tokens.',
    { hides: ['completions state no usable usage', [...completions, 'limit.tokens.remaining', 'limit.tokens.enforced']] },
  ],
  'chat.usage.sum': ['2.4', ['chat-response', 'chat-stream'], 'Total tokens are prompt tokens plus completion tokens.'],
  'chat.usage.text': [
    '2.4',
    ['chat-response', 'chat-stream', 'consistency'],
    'completion_tokens are the tokens of the text: it has as many characters as they can hold, and some if they are no reasoning.',
    { exercisedBy: 'chat' },
  ],
  'chat.usage.cached': [
    '2.4',
    ['chat-response', 'chat-stream'],
    'prompt_tokens_details is null or counts cached and written tokens, which are part of the prompt.',
    { hides: ['cached tokens are unusable', ['chat.usage.cached.new', 'chat.cost.amount', 'chat.cost.cached', 'parameters.price']] },
  ],
  'chat.usage.cached.new': [
    '2.4',
    ['chat-response', 'chat-stream'],
    'cached_tokens counts tokens that a cache served, so none of a text that no request had before.',
    { exercisedBy: 'conversation' },
  ],
  'chat.max-completion-tokens': ['2.1', ['chat-response', 'chat-stream'], 'max_completion_tokens limits the generated tokens, including reasoning.'],
  'chat.cost': [
    '2.4',
    ['chat-response', 'chat-stream'],
    'cost, if present, has diem and usd, both non-negative numbers.',
    { hides: ['completions state no usable cost', ['chat.cost.amount', 'chat.cost.cached', 'parameters.price', ...money]] },
  ],
  'chat.cost.amount': ['2.4', ['chat-response', 'chat-stream'], 'cost is tokens times the list price of the model.', { source: 'profile' }],
  'chat.cost.cached': [
    '2.4',
    ['chat-response', 'chat-stream'],
    'Tokens read from a cache or written to a cache cost their list price.',
    { source: 'profile', unseen: 'no prompt came from a cache' },
  ],
  'chat.choice.stop-reason': ['2.4', ['chat-response', 'chat-stream'], 'stop_reason is null, stop or length, and does not contradict finish_reason.'],
  'chat.choice.tool-calls': ['2.4', ['chat-response', 'chat-stream'], 'A choice with the finish reason tool_calls has at least one tool call.'],
  'chat.choice.length': ['2.4', ['chat-response', 'chat-stream'], 'A choice is cut for its length only at its token limit.', { source: 'profile' }],
  'chat.message.members': [
    '2.4',
    'chat-response',
    'name, reasoning_content, reasoning_details, thought_signature and tool_calls of a message have the documented types.',
  ],
  'chat.usage.details': [
    '2.4',
    ['chat-response', 'chat-stream'],
    'completion_tokens_details is null or has an integer reasoning_tokens, at most the generated tokens.',
  ],
  'chat.stream.index': [
    '4.2',
    'chat-stream',
    'The index of a chunk, if present, is that of a requested choice; chunks of several choices each have one.',
    { source: 'profile' },
  ],
  'chat.stream.delta': ['4.2', 'chat-stream', 'The delta of a chunk has the types of a message, and its role.', { source: 'profile' }],
  'chat.request': [
    '2.1',
    ['probe', 'chat-request'],
    'A chat request needs only a model and a list of messages.',
    { hides: ['valid requests were refused', ['chat.object', 'chat.id', 'chat.model', 'chat.created', ...completions]] },
  ],
  'chat.request.message': ['2.2', ['probe', 'chat-request'], 'A message has a role, and a text or a list of parts as content.'],
  'chat.request.text-part': ['2.2', ['probe', 'chat-request'], 'A text part has the type text and at least one character of text.'],
  'chat.request.cache-control': ['2.2', ['probe', 'chat-request'], 'The type of cache_control is ephemeral.'],
  'chat.request.stream': ['2.1', 'probe', 'stream is true or false.'],
  'chat.request.frequency-penalty': ['2.1', ['probe', 'chat-request'], 'frequency_penalty is a number from -2 to 2.'],
  'chat.request.max-temp': ['2.1', ['probe', 'chat-request'], 'max_temp is a number from 0 to 2.'],
  'chat.request.logprobs': ['2.1', ['probe', 'chat-request'], 'logprobs is true or false.'],
  'chat.request.top-logprobs': ['2.1', ['probe', 'chat-request'], 'top_logprobs is a whole number of at least 0.'],
  'chat.request.max-completion-tokens': ['2.1', 'probe', 'max_completion_tokens is a whole number.'],
  'chat.request.max-tokens': ['2.1', ['probe', 'chat-request'], 'max_tokens is a whole number; a value of 0 or less is ignored.'],
  'chat.request.n': ['2.1', ['probe', 'chat-request'], 'n is a whole number, and the response has at most n choices.'],
  'chat.request.prompt-cache-key': ['2.1', ['probe', 'chat-request'], 'prompt_cache_key is a string.'],
  'chat.request.unknown-member': ['1', 'chat-request', 'A request may have an undocumented field, which does no harm.', { source: 'profile' }],
  'chat.logprobs': ['2.4', 'chat-request', 'logprobs of a choice is null or an object of tokens with their log probabilities.'],
  'chat.logprobs.asked': ['2.1', 'chat-request', 'A completion has log probabilities if and only if they are requested and the model has them.'],
  'chat.logprobs.top': ['2.1', 'chat-request', 'Each position lists at most top_logprobs tokens.'],
  'chat.prompt-logprobs': ['2.4', 'chat-request', 'prompt_logprobs, if present, is null or an object.'],
} satisfies ClauseRows

/** Streamed completions, then the service-specific options of all completions. */
export const streamClauses = {
  'chat.stream.content-type': [
    '4.2',
    'chat-stream',
    'A streamed completion is an event stream.',
    { source: 'profile', hides: ['streams are unreadable', [...streams, ...completions]] },
  ],
  'chat.stream.chunk': ['4.2', 'chat-stream', 'Every event is a JSON chunk of one completion: one id, one model.', { source: 'profile' }],
  'chat.stream.finish': [
    '4.2',
    'chat-stream',
    'A stream states its finish reason once. No token comes after it, and neither of them after an error.',
    { source: 'profile' },
  ],
  'chat.stream.usage': ['4.2', 'chat-stream', 'A stream states its usage once.', { source: 'profile', hides: ['streams state no usage', completions] }],
  'chat.stream.done': ['4.2', 'chat-stream', 'The done marker is the last event of a stream.', { source: 'profile' }],
  'parameters.accepted': [
    '2.3',
    'chat-options',
    'Every documented option is accepted with every documented value.',
    { hides: ['options were refused', ['parameters.echo', 'parameters.echo.sent', 'parameters.echo.default', 'parameters.thinking', 'parameters.citations']] },
  ],
  'parameters.invalid': ['2.3', 'probe', 'An option with an unknown value gets a 400: enable_web_search is off, on or auto, and a flag is true or false.'],
  'parameters.echo': [
    '2.4',
    'chat-options',
    'The echo of the options has the documented booleans, texts and list of citations.',
    { hides: ['the echo of the options is unreadable', ['parameters.echo.sent', 'parameters.echo.default', 'parameters.echo.citations', 'parameters.suffix']] },
  ],
  'parameters.echo.citations': ['2.4', 'chat-options', 'Each of web_search_citations has title and url; content and date, if present, are texts.'],
  'parameters.echo.sent': ['2.4', 'chat-options', 'An option that was sent is echoed with its value.'],
  'parameters.echo.default': ['2.3', 'chat-options', 'An option that was not sent is echoed with its default.'],
  'parameters.suffix': ['2.3', 'chat-options', "An option in the suffix of the model's name works like the same option in the body."],
  'parameters.thinking': ['2.3', 'chat-options', 'strip_thinking_response and disable_thinking leave no think block in the content.'],
  'parameters.citations': ['2.3', 'chat-options', 'Citations appear only if requested, have the documented form, and refer to sources that were found.'],
  'parameters.results-in-stream': ['2.3', 'chat-options', 'Search results requested in the stream are its first chunk.'],
  'parameters.documents': ['2.3', 'chat-options', 'Search results requested as documents are a tool call with the documented name.'],
  'parameters.scraping': ['2.3', 'chat-options', 'At most five of the pages named in a message are scraped.'],
  'parameters.price': [
    '2.3',
    ['chat-response', 'chat-stream'],
    'Searches and scraped pages cost extra, per use at the listed price, in addition to the tokens.',
    { source: 'profile' },
  ],
} satisfies ClauseRows

const promised = { source: 'profile', isExtra: true, needs: 'a profile that promises it' } as const
const json = { ...promised, exercisedBy: 'json-answer' } as const

/** What a program parses. Many models write it freely, so only a profile promises it. */
export const chatJsonClauses = {
  'chat.json.arguments': [
    '2.4',
    'chat-json',
    'The arguments of a tool call are JSON and fit the parameters of the tool: types, required properties, listed values. Where the request requires a call, there is one.',
    json,
  ],
  'chat.json.content': ['2.4', 'chat-json', 'The content is JSON if the request asks for it, and fits its schema in the same way.', json],
} satisfies ClauseRows

/** Token limits that are none. The document ignores some of them. */
export const tokenLimitClauses = {
  'chat.token-limit.below-zero': ['2.1', 'probe', 'A token limit below 0 gets a 400 or a 422.', promised],
  'chat.token-limit.whole-number': ['2.1', 'probe', 'A token limit that is a fraction or a word gets a 400 or a 422.', promised],
} satisfies ClauseRows

const slowReader = { ...promised, exercisedBy: 'slow-reader' } as const

/** What a service owes a client that reads a stream slowly. The document is silent about it. */
export const slowReaderClauses = {
  'slow-reader.text': ['4.2', 'slow-readers', 'A stream brings all of its text to a client that reads slowly.', slowReader],
  'slow-reader.kept': ['4.2', 'slow-readers', 'A stream does not break off because its client reads slowly.', slowReader],
} satisfies ClauseRows
