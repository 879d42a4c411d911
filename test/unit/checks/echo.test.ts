import { describe } from 'vitest'
import { accusesEach, refused, sparesEach } from './observed.ts'
import { answered, asking, defaults, refusal, search, source } from './optioned.ts'

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
      '{"disable_thinking":true} was answered with 400, expected 200',
      refusal({ parameters: { disable_thinking: true } }),
    ],
    'a refusal of what stands behind the model': [
      'parameters.suffix',
      'disable_thinking=true behind the model was answered with 404, expected 200',
      refusal({ suffix: 'disable_thinking=true' }, 404),
    ],
    'an option behind the model that is not applied': [
      'parameters.suffix',
      'disable_thinking is echoed as false, expected true as it was sent behind the model',
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
      'enable_web_search is echoed as "off", expected "on" as it was sent',
      answered({ parameters: search }, { echo: defaults }),
    ],
    'a system prompt that was switched off and is not': [
      'parameters.echo.sent',
      'include_venice_system_prompt is echoed as true, expected false as it was sent',
      answered({ parameters: search }, { echo: { include_venice_system_prompt: true } }),
    ],
    'an option that is on by itself': [
      'parameters.echo.default',
      'disable_thinking is echoed as true, expected its default false',
      answered({ parameters: search }, { echo: { disable_thinking: true } }),
    ],
  })
})
