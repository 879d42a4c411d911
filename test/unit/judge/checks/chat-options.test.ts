import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import {
  chatDescriptor,
  completion,
  failedClauses,
  failsEach,
  judgedCount,
  observed,
  passesEach,
  refused,
  responseOf,
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
  passesEach({
    'a think block that no option removes': answered(
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
    'citations of found sources': answered(
      { parameters: cited },
      { content: 'So[REF]0[/REF] and so[REF]1[/REF].', echo: found('a', 'b') },
    ),
    'citations without a list of sources': answered({ parameters: cited }, { content: 'So[REF]7[/REF].' }),
    'no citations although they were requested': answered({ parameters: cited }, { content: 'So.', echo: found('a') }),
    'a citation in which the text was cut': answered(
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
    'a stream without any results': streamed(inStream, {}),
    'results after the content, if not requested at its start': streamed(search, {
      ...parts('role content finish results usage done'),
      parameters: found('a'),
    }),
    'results as documents': answered(
      { parameters: asDocuments },
      { echo: found('a'), ...calling('service_web_search_documents') },
    ),
    'no choices, where documents would be': answered({ parameters: asDocuments }, { echo: found('a'), choice: null }),
    'no documents if nothing was found': answered({ parameters: asDocuments }, { echo: found() }),
    'a tool of the caller next to documents': answered(
      { parameters: asDocuments, body: { tools: [] } },
      { echo: found('a'), ...calling('weather') },
    ),
    'five scraped pages': answered({ parameters: { enable_web_scraping: true } }, { echo: found(...six.slice(0, 5)) }),
    'six search results next to pages': answered(
      { parameters: { ...search, enable_web_scraping: true } },
      { echo: found(...six) },
    ),
  })

  failsEach({
    'a think block that should be stripped': [
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
    'a citation that was not requested': [
      'parameters.citations',
      'the content cites "[REF]0[/REF]", expected no citation',
      answered({ parameters: search }, { content: 'So[REF]0[/REF].' }),
    ],
    'a citation of a source after the last one': [
      'parameters.citations',
      'the content cites "[REF]1[/REF]", expected one of 1 sources',
      answered({ parameters: cited }, { content: 'So[REF]1[/REF].', echo: found('a') }),
    ],
    'a citation that is not closed': [
      'parameters.citations',
      'the content has "So[REF]0[REF].", expected citations as \\[REF\\]([0-9]+)\\[/REF\\]',
      answered({ parameters: cited }, { content: 'So[REF]0[REF].', echo: found('a') }),
    ],
    'results after the role': [
      'parameters.results-in-stream',
      'the stream is role results content finish usage done, expected the results in its first chunk',
      streamed(inStream, { ...parts('role results content finish usage done'), parameters: found('a') }),
    ],
    'documents with another name': [
      'parameters.documents',
      'the called tools are ["web_search"], expected a call of service_web_search_documents',
      answered({ parameters: asDocuments }, { ...calling('web_search') }),
    ],
    'results that are not documents': [
      'parameters.documents',
      'the called tools are [], expected a call of service_web_search_documents',
      answered({ parameters: asDocuments }, { echo: found('a') }),
    ],
    'six scraped pages': [
      'parameters.scraping',
      '6 pages were scraped, expected at most 5',
      answered({ parameters: { enable_web_scraping: true } }, { echo: found(...six) }),
    ],
  })

  test('are not judged in plain calls', () => {
    const observation = observed(
      chatDescriptor,
      responseOf(200, { ...completion, service_parameters: 7 }, tokenHeaders),
    )
    expect(failedClauses(observation)).toEqual({})
    expect(judgedCount('parameters.echo', observation)).toBe(0)
  })

  test('with any value in a response do not crash a judge', () => {
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
            failedClauses(answered({ parameters: asDocuments, suffix: '=&&a=b=c' }, { echo, choice: choices })),
          ).not.toThrow()
  })
})

describe('a profile with other values', () => {
  const { chat } = documentedContract
  const search = { ...chat.search, resultsInStream: 'last', documentsTool: null, citationMark: null } as const
  const otherwise: Contract = { ...documentedContract, chat: { ...chat, search } }

  passesEach(
    {
      'results after the content': streamed(inStream, {
        ...parts('role content finish results usage done'),
        parameters: found('a'),
      }),
      'documents with any name': answered({ parameters: asDocuments }, { ...calling('web_search') }),
      'a malformed citation': answered({ parameters: cited }, { content: 'So[REF]0[REF].', echo: found('a') }),
    },
    otherwise,
  )

  failsEach(
    {
      'results before the content': [
        'parameters.results-in-stream',
        'the stream is results role content finish usage done, expected the results after its last token',
        streamed(inStream, { ...parts('results role content finish usage done'), parameters: found('a') }),
      ],
    },
    otherwise,
  )
})

describe('the echo of options', () => {
  passesEach({
    'no echo': answered({ parameters: { strip_thinking_response: true } }),
    'an echo that is null': answered({ parameters: { strip_thinking_response: true } }, { echo: null }),
    'an echo of everything': answered(
      { parameters: { strip_thinking_response: true } },
      { echo: { ...defaults, strip_thinking_response: true, enable_e2ee: true, web_search_citations: [] } },
    ),
    'an echo of a few options and an undocumented one': answered(
      { parameters: { disable_thinking: true } },
      { echo: { disable_thinking: true, enable_magic: 1, character_slug: null } },
    ),
    'an end-to-end encryption that the model does not support': answered(
      { parameters: { enable_e2ee: true } },
      { echo: { ...defaults, enable_e2ee: false } },
    ),
    'a search bypassed by scraping': answered(
      { parameters: { ...search, enable_web_scraping: true } },
      { echo: { ...defaults, enable_web_scraping: true, enable_web_search: 'off' } },
    ),
    'citations without effect, since nothing was searched': answered(
      { parameters: { enable_web_citations: true } },
      { echo: defaults },
    ),
    'the default system prompt, if the option was not sent': answered(
      { parameters: { include_venice_system_prompt: null } },
      { echo: { ...defaults, include_venice_system_prompt: true } },
    ),
    'options in the model suffix only': answered(
      { suffix: 'strip_thinking_response=true' },
      { echo: { ...defaults, strip_thinking_response: true } },
    ),
    'several options in the model suffix': answered(
      { suffix: 'strip_thinking_response=true&disable_thinking=true' },
      { echo: defaults },
    ),
    'a refusal of several options in the model suffix': refusal(
      { suffix: 'strip_thinking_response=true&disable_thinking=true' },
      400,
    ),
    'an option in the model suffix that the body contradicts': answered(
      { suffix: 'disable_thinking=true', parameters: { disable_thinking: false } },
      { echo: { ...defaults, disable_thinking: true } },
    ),
    'a rejection of an option that only some models support': refusal({ parameters: { enable_x_search: true } }),
    'a rejection of an option that the model does not support': refused(asking({ parameters: search }), 400, {
      error: 'This model does not support web search',
    }),
    'a rejection of an unknown character': refusal({ parameters: { character_slug: 'nobody' } }, 404),
    'a rejection of an undocumented value': refusal({ parameters: { enable_web_search: 'maybe' } }),
    'a rejection of an undocumented option': refusal({ parameters: { enable_magic: true } }),
    'a rejection of a request with other fields': refusal({
      parameters: { disable_thinking: true },
      body: { temperature: 3 },
    }),
    'a rejection for another reason': refusal({ parameters: { disable_thinking: true } }, 503),
    'a caller with too little balance': refused(asking({ suffix: 'disable_thinking=true' }), 402),
    'a citation with all of its fields': answered(
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

  failsEach({
    'a rejected option': [
      'parameters.accepted',
      '{"disable_thinking":true} got status 400, expected 200',
      refusal({ parameters: { disable_thinking: true } }),
    ],
    'a rejected model suffix': [
      'parameters.suffix',
      'disable_thinking=true in the model suffix got status 404, expected 200',
      refusal({ suffix: 'disable_thinking=true' }, 404),
    ],
    'an option in the model suffix that is not applied': [
      'parameters.suffix',
      'disable_thinking is echoed as false, expected true as sent in the model suffix',
      answered({ suffix: 'disable_thinking=true' }, { echo: defaults }),
    ],
    'an echo that is a string': [
      'parameters.echo',
      'the echo of the options is "{}", expected an object',
      answered({ parameters: search }, { echo: '{}' }),
    ],
    'a flag that is a string': [
      'parameters.echo',
      'the echo of the options has enable_web_scraping "false", expected a boolean',
      answered({ parameters: search }, { echo: { enable_web_scraping: 'false' } }),
    ],
    'an undocumented search mode': [
      'parameters.echo',
      'the echo of the options has enable_web_search "ON", expected off, on, auto',
      answered({ parameters: search }, { echo: { enable_web_search: 'ON' } }),
    ],
    'citations that are not a list': [
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
    'a citation with a numeric date': [
      'parameters.echo.citations',
      'a citation has date 7, expected a text',
      answered({ parameters: search }, { echo: { web_search_citations: [{ ...source('a'), date: 7 }] } }),
    ],
    'an option echoed with another value': [
      'parameters.echo.sent',
      'enable_web_search is echoed as "off", expected "on" as sent',
      answered({ parameters: search }, { echo: defaults }),
    ],
    'a system prompt that stays on although it was switched off': [
      'parameters.echo.sent',
      'include_venice_system_prompt is echoed as true, expected false as sent',
      answered({ parameters: search }, { echo: { include_venice_system_prompt: true } }),
    ],
    'an option that is on by default': [
      'parameters.echo.default',
      'disable_thinking is echoed as true, expected its default false',
      answered({ parameters: search }, { echo: { disable_thinking: true } }),
    ],
  })
})
