import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../src/contract/contract.ts'
import { documented } from '../../../src/contract/documented.ts'
import {
  accusations,
  accusesEach,
  answerOf,
  chatAsked,
  completion,
  judgedCount,
  observed,
  sparesEach,
  tokenHeaders,
} from './observed.ts'
import { answered, asDocuments, calling, cited, found, inStream, parts, search, six, streamed } from './optioned.ts'

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
      'the content cites "[REF]0[/REF]", expected nothing',
      answered({ parameters: { enable_web_citations: true } }, { content: 'So[REF]0[/REF].' }),
    ],
    'a citation that nobody asked for': [
      'parameters.citations',
      'the content cites "[REF]0[/REF]", expected nothing',
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
      'the tools that are called are ["web_search"], expected a call of service_web_search_documents',
      answered({ parameters: asDocuments }, { ...calling('web_search') }),
    ],
    'results that are no documents': [
      'parameters.documents',
      'the tools that are called are [], expected a call of service_web_search_documents',
      answered({ parameters: asDocuments }, { echo: found('a') }),
    ],
    'six pages that were scraped': [
      'parameters.scraping',
      '6 pages were scraped, expected at most 5',
      answered({ parameters: { enable_web_scraping: true } }, { echo: found(...six) }),
    ],
  })

  test('of plain calls are not looked for', () => {
    const observation = observed(chatAsked, answerOf(200, { ...completion, service_parameters: 7 }, tokenHeaders))
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
        'the stream is results role content finish usage done, expected the results behind its last token',
        streamed(inStream, { ...parts('results role content finish usage done'), parameters: found('a') }),
      ],
    },
    otherwise,
  )
})
