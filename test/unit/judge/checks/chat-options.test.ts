import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../../src/contract/contract.ts'
import { documented } from '../../../../src/contract/documented.ts'
import {
  accusations,
  accusesEach,
  chatDescriptor,
  completion,
  judgedCount,
  observed,
  refused,
  responseOf,
  sparesEach,
  tokenHeaders,
} from './observed.ts'
import {
  answered,
  asDocuments,
  asking,
  calling,
  cited,
  defaults,
  found,
  inStream,
  parts,
  refusal,
  search,
  six,
  source,
  streamed,
} from './optioned.ts'

describe('options', () => {
  sparesEach({
    'a think block that nobody wanted to be without': answered(
      { suffix: 'enable_web_search=off' },
      {
        content: '<think>Hm.</think> Hello',
      },
    ),
    'words about thinking': answered({ parameters: { disable_thinking: true } }, { content: 'I think <so>' }),
    'content in parts': answered(
      { parameters: { disable_thinking: true } },
      { content: [{ type: 'text', text: 'Hello' }] },
    ),
    'citations of what was found': answered(
      { parameters: cited },
      { content: 'So[REF]0[/REF] and so[REF]1[/REF].', echo: found('a', 'b') },
    ),
    'citations of sources that are not given': answered({ parameters: cited }, { content: 'So[REF]7[/REF].' }),
    'no citations although they were asked for': answered({ parameters: cited }, { content: 'So.', echo: found('a') }),
    'a citation at which the text was cut': answered(
      { parameters: cited },
      {
        content: 'So[REF]0[/R',
        echo: found('a'),
        choice: { finish_reason: 'length', stop_reason: null, message: { role: 'assistant', content: 'So[REF]0[/R' } },
      },
    ),
    'results in the first chunk': streamed(inStream, {
      ...parts('results role content finish usage done'),
      parameters: found('a'),
    }),
    'no results that were found': streamed(inStream, {}),
    'results behind the answer that nobody asked for at its start': streamed(search, {
      ...parts('role content finish results usage done'),
      parameters: found('a'),
    }),
    'results as documents': answered(
      { parameters: asDocuments },
      { echo: found('a'), ...calling('service_web_search_documents') },
    ),
    'no documents where nothing was found': answered({ parameters: asDocuments }, { echo: found() }),
    'a tool of the caller beside documents': answered(
      { parameters: asDocuments, body: { tools: [] } },
      { echo: found('a'), ...calling('weather') },
    ),
    'five pages that were scraped': answered(
      { parameters: { enable_web_scraping: true } },
      { echo: found(...six.slice(0, 5)) },
    ),
    'six results of a search beside pages': answered(
      { parameters: { ...search, enable_web_scraping: true } },
      { echo: found(...six) },
    ),
  })

  accusesEach({
    'a think block that was to be stripped': [
      'parameters.thinking',
      'the content is "<think>Hm.</think> Hello", expected no think block',
      answered({ parameters: { strip_thinking_response: true } }, { content: '<think>Hm.</think> Hello' }),
    ],
    'the end of a think block in a stream': [
      'parameters.thinking',
      'the content is "</think> Hello", expected no think block',
      streamed({ disable_thinking: true }, { text: '</think> Hello' }),
    ],
    'a citation without a search': [
      'parameters.citations',
      'the content cites "[REF]0[/REF]", expected no citation',
      answered({ parameters: { enable_web_citations: true } }, { content: 'So[REF]0[/REF].' }),
    ],
    'a citation that nobody asked for': [
      'parameters.citations',
      'the content cites "[REF]0[/REF]", expected no citation',
      answered({ parameters: search }, { content: 'So[REF]0[/REF].' }),
    ],
    'a citation of one source too many': [
      'parameters.citations',
      'the content cites "[REF]1[/REF]", expected one of 1 sources',
      answered({ parameters: cited }, { content: 'So[REF]1[/REF].', echo: found('a') }),
    ],
    'a citation that is not closed': [
      'parameters.citations',
      'the content has "So[REF]0[REF].", expected citations as \\[REF\\]([0-9]+)\\[/REF\\]',
      answered({ parameters: cited }, { content: 'So[REF]0[REF].', echo: found('a') }),
    ],
    'results behind the role': [
      'parameters.results-in-stream',
      'the stream is role results content finish usage done, expected the results in its first chunk',
      streamed(inStream, { ...parts('role results content finish usage done'), parameters: found('a') }),
    ],
    'documents of another name': [
      'parameters.documents',
      'the called tools are ["web_search"], expected a call of service_web_search_documents',
      answered({ parameters: asDocuments }, { ...calling('web_search') }),
    ],
    'results that are no documents': [
      'parameters.documents',
      'the called tools are [], expected a call of service_web_search_documents',
      answered({ parameters: asDocuments }, { echo: found('a') }),
    ],
    'six pages that were scraped': [
      'parameters.scraping',
      '6 pages were scraped, expected at most 5',
      answered({ parameters: { enable_web_scraping: true } }, { echo: found(...six) }),
    ],
  })

  test('of plain calls are not looked for', () => {
    const observation = observed(
      chatDescriptor,
      responseOf(200, { ...completion, service_parameters: 7 }, tokenHeaders),
    )
    expect(accusations(observation)).toEqual({})
    expect(judgedCount('parameters.echo', observation)).toBe(0)
  })

  test('can be anything in an answer, and no judge fails over it', () => {
    const junk: readonly unknown[] = [
      7,
      true,
      [],
      [[]],
      {},
      { web_search_citations: [null, 7, []] },
      { constructor: 1 },
    ]
    for (const echo of junk)
      for (const content of [7, [null], [{ text: 7 }], {}])
        for (const choices of [
          { message: { role: 'assistant', content } },
          { message: 7 },
          { message: { tool_calls: [7, {}] } },
        ])
          expect(() =>
            accusations(answered({ parameters: asDocuments, suffix: '=&&a=b=c' }, { echo, choice: choices })),
          ).not.toThrow()
  })
})

describe('a profile that says otherwise', () => {
  const { chat } = documented
  const search = { ...chat.search, resultsInStream: 'last', documentsTool: null, citationMark: null } as const
  const otherwise: Contract = { ...documented, chat: { ...chat, search } }

  sparesEach(
    {
      'results behind the answer': streamed(inStream, {
        ...parts('role content finish results usage done'),
        parameters: found('a'),
      }),
      'documents of any name': answered({ parameters: asDocuments }, { ...calling('web_search') }),
      'what is no citation': answered({ parameters: cited }, { content: 'So[REF]0[REF].', echo: found('a') }),
    },
    otherwise,
  )

  accusesEach(
    {
      'results before the answer': [
        'parameters.results-in-stream',
        'the stream is results role content finish usage done, expected the results after its last token',
        streamed(inStream, { ...parts('results role content finish usage done'), parameters: found('a') }),
      ],
    },
    otherwise,
  )
})

describe('the echo of options', () => {
  sparesEach({
    'no echo': answered({ parameters: { strip_thinking_response: true } }),
    'an echo that is null': answered({ parameters: { strip_thinking_response: true } }, { echo: null }),
    'an echo of everything': answered(
      { parameters: { strip_thinking_response: true } },
      { echo: { ...defaults, strip_thinking_response: true, enable_e2ee: true, web_search_citations: [] } },
    ),
    'an echo of a few, and of one that is not documented': answered(
      { parameters: { disable_thinking: true } },
      { echo: { disable_thinking: true, enable_magic: 1, character_slug: null } },
    ),
    'an end-to-end encryption that the model is not capable of': answered(
      { parameters: { enable_e2ee: true } },
      { echo: { ...defaults, enable_e2ee: false } },
    ),
    'a search that was bypassed by scraping': answered(
      { parameters: { ...search, enable_web_scraping: true } },
      { echo: { ...defaults, enable_web_scraping: true, enable_web_search: 'off' } },
    ),
    'citations that were not applied since nothing was searched': answered(
      { parameters: { enable_web_citations: true } },
      { echo: defaults },
    ),
    'the default of the system prompt, where none was sent': answered(
      { parameters: { include_venice_system_prompt: null } },
      { echo: { ...defaults, include_venice_system_prompt: true } },
    ),
    'options behind the model, by its name alone': answered(
      { suffix: 'strip_thinking_response=true&enable_web_search=off' },
      { echo: { ...defaults, strip_thinking_response: true } },
    ),
    'one behind the model that the body contradicts': answered(
      { suffix: 'disable_thinking=true', parameters: { disable_thinking: false } },
      { echo: { ...defaults, disable_thinking: true } },
    ),
    'a refusal of what only some models can do': refusal({ parameters: { enable_x_search: true } }),
    'a refusal of what the model cannot do': refused(asking({ parameters: search }), 400, {
      error: 'This model does not support web search',
    }),
    'a refusal of a character that is not known': refusal({ parameters: { character_slug: 'nobody' } }, 404),
    'a refusal of a value that is not documented': refusal({ parameters: { enable_web_search: 'maybe' } }),
    'a refusal of an option that is not documented': refusal({ parameters: { enable_magic: true } }),
    'a refusal of a request with more in it': refusal({
      parameters: { disable_thinking: true },
      body: { temperature: 3 },
    }),
    'a refusal for another reason': refusal({ parameters: { disable_thinking: true } }, 503),
    'a caller who asked too often': refused(asking({ suffix: 'disable_thinking=true' }), 402),
    'a citation with all of its members': answered(
      { parameters: search },
      {
        echo: {
          web_search_citations: [
            { ...source('a'), content: 'A page.', date: '2026-01-01' },
            { ...source('b'), date: null },
          ],
        },
      },
    ),
  })

  accusesEach({
    'a refusal of an option': [
      'parameters.accepted',
      '{"disable_thinking":true} got status 400, expected 200',
      refusal({ parameters: { disable_thinking: true } }),
    ],
    'a refusal of what stands behind the model': [
      'parameters.suffix',
      'disable_thinking=true in the model suffix got status 404, expected 200',
      refusal({ suffix: 'disable_thinking=true' }, 404),
    ],
    'an option behind the model that is not applied': [
      'parameters.suffix',
      'disable_thinking is echoed as false, expected true as sent in the model suffix',
      answered({ suffix: 'strip_thinking_response=false&disable_thinking=true' }, { echo: defaults }),
    ],
    'an echo that is a text': [
      'parameters.echo',
      'the echo of the options is "{}", expected an object',
      answered({ parameters: search }, { echo: '{}' }),
    ],
    'a flag that is a text': [
      'parameters.echo',
      'the echo of the options has enable_web_scraping "false", expected a boolean',
      answered({ parameters: search }, { echo: { enable_web_scraping: 'false' } }),
    ],
    'a mode of search that is not one': [
      'parameters.echo',
      'the echo of the options has enable_web_search "ON", expected off, on, auto',
      answered({ parameters: search }, { echo: { enable_web_search: 'ON' } }),
    ],
    'citations that are no list': [
      'parameters.echo',
      'the echo of the options has web_search_citations {"0":1}, expected a list',
      answered({ parameters: search }, { echo: { web_search_citations: { 0: 1 } } }),
    ],
    'a citation without a title': [
      'parameters.echo.citations',
      'a citation has title nothing, expected a text',
      answered({ parameters: search }, { echo: { web_search_citations: [{ url: 'https://example.com' }] } }),
    ],
    'a citation that is a link': [
      'parameters.echo.citations',
      'a citation has title nothing, expected a text',
      answered({ parameters: search }, { echo: { web_search_citations: ['https://example.com'] } }),
    ],
    'a citation with a date in numbers': [
      'parameters.echo.citations',
      'a citation has date 7, expected a text',
      answered({ parameters: search }, { echo: { web_search_citations: [{ ...source('a'), date: 7 }] } }),
    ],
    'an option that is echoed otherwise': [
      'parameters.echo.sent',
      'enable_web_search is echoed as "off", expected "on" as sent',
      answered({ parameters: search }, { echo: defaults }),
    ],
    'a system prompt that was switched off and is not': [
      'parameters.echo.sent',
      'include_venice_system_prompt is echoed as true, expected false as sent',
      answered({ parameters: search }, { echo: { include_venice_system_prompt: true } }),
    ],
    'an option that is on by itself': [
      'parameters.echo.default',
      'disable_thinking is echoed as true, expected its default false',
      answered({ parameters: search }, { echo: { disable_thinking: true } }),
    ],
  })
})
