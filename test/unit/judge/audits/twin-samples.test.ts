import { expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { judgeSampledForms } from '../../../../src/judge/audits/twin-samples.ts'
import { createTwinAudit } from '../../../../src/judge/audits/twins.ts'
import { createFindingLog } from '../../../../src/judge/findings/findings.ts'
import { type Random, randomStream } from '../../../../src/lib/random.ts'
import type { TwinRole } from '../../../../src/observation/requests/traits.ts'
import { todays } from '../../../support/nightly.ts'
import { chatDescriptor, completion, observed, responseOf } from '../checks/observed.ts'

type Said = { readonly tokens: number; readonly end: string; readonly text: string }
type Form = TwinRole['form']
/** What a target says to a form of a request; null: nothing. */
type Target = (form: Form, random: Random, pair: number) => Said | null

const words =
  'a block by call chain day each first given has in it keep last many never of on past rate so take until way'.split(
    ' ',
  )
const most = 120

/** A completion of a model that ends by itself, or at the bound. */
function sampled(random: Random, { mean = 90, vocabulary = words } = {}): Said {
  const natural = 1 + Math.floor(random.exponential() * mean)
  const tokens = Math.min(most, natural)
  const text = Array.from({ length: tokens }, () => vocabulary[random.int(vocabulary.length)]).join(' ')
  return { tokens, end: natural < most ? 'stop' : 'length', text }
}

function judge(
  target: Target,
  {
    pairs = 60,
    seed = 1,
    workers = 1,
    forms = ['streamed'] as readonly Form[],
    mayDiffer = [] as TwinRole['mayDiffer'],
    body = {},
  } = {},
) {
  const random = randomStream(seed, 'target')
  const log = createFindingLog()
  const contract = documentedContract
  const audits = Array.from({ length: workers }, () => createTwinAudit({ contract }, log.reporterFor('twins')))
  const options = { body, parameters: {}, suffix: null, encoding: null, samePrompt: false }
  for (let pair = 0; pair < pairs; pair++)
    for (const [index, form] of (['original', ...forms] as const).entries()) {
      const id = pair * 10 + index
      const request = { ...chatDescriptor, options, twin: { group: pair * 10, form, mayDiffer } }
      const said = target(form, random, pair)
      const response = said === null ? responseOf(500, {}) : responseOf(200, bodyOf(said))
      audits[pair % workers]?.add(observed(request, response, { id, sentMs: id }), 0)
    }
  for (const audit of audits) audit.finish(true)
  judgeSampledForms(
    audits.flatMap(audit => audit.sampled()),
    log.reporterFor('twins'),
  )
  const of = log.tallies().find(({ id }) => id === 'twin.sampled')
  const messages = log.findings().flatMap(({ clause, message }) => (clause === 'twin.sampled' ? [message] : []))
  return { verdict: of?.verdict, judged: of?.judged, because: of?.because, messages }
}

const [choice] = completion.choices
const bodyOf = ({ tokens, end, text }: Said) => ({
  ...completion,
  usage: { ...completion.usage, completion_tokens: tokens },
  choices: [{ ...choice, finish_reason: end, message: { role: 'assistant', content: text } }],
})

const honest: Target = (_, random) => sampled(random)
const onlyStreamed =
  (said: (random: Random) => Said | null): Target =>
  (form, random) =>
    form === 'streamed' ? said(random) : sampled(random)

test('a target that samples alike in each form is never accused', () => {
  for (const seed of todays([...Array(200).keys()], 4))
    expect(judge(honest, { seed, pairs: 40 + (seed % 40), forms: ['streamed', 'compressed', 'alone'] })).toMatchObject({
      verdict: 'pass',
      judged: 3,
    })
})

test.each([
  [
    'shorter completions',
    onlyStreamed(random => sampled(random, { mean: 12 })),
    /^60 completions in the form streamed have [\d.]+ tokens in the mean, expected [\d.]+ as without it, which chance does in less than 1 of 100,000 runs$/,
  ],
  [
    'another end',
    onlyStreamed(random => ({ ...sampled(random), end: 'content_filter' })),
    /^100\.0 % of 60 completions in the form streamed end with "content_filter", expected 0\.0 % as without it, /,
  ],
  [
    'other words',
    onlyStreamed(random => sampled(random, { vocabulary: words.slice(0, 6) })),
    /^a group of words is [\d.]+ % of the text of 60 completions in the form streamed, expected [\d.]+ % as without it, /,
  ],
])('a form that gets %s is named, by one worker or by three', (_, target, message) => {
  for (const workers of [1, 3]) {
    const { messages } = judge(target, { workers, forms: ['compressed', 'streamed'] })
    expect(messages).toHaveLength(1)
    expect(messages[0]).toMatch(message)
  }
})

test('too few pairs accuse nobody, and the report says how many it takes', () => {
  const empty = onlyStreamed(() => ({ tokens: 1, end: 'stop', text: 'no' }))
  expect(judge(empty, { pairs: 26 })).toMatchObject({
    verdict: 'not-exercised',
    because: {
      kind: 'not-judged',
      text: 'chance explains any difference of fewer than 27 pairs, expected more of each form',
    },
  })
  expect(judge(empty, { pairs: 40 }).verdict).toBe('fail')
})

test('a target that fails for long completions in one form is not accused of short ones', () => {
  for (const seed of todays([...Array(50).keys()], 4)) {
    const target: Target = (form, random) => {
      const said = sampled(random)
      return form === 'streamed' && said.tokens > 60 ? null : said
    }
    expect(judge(target, { seed, pairs: 200 }).messages).toEqual([])
  }
})

test('a target that repeats its answer to each form has sampled it once', () => {
  const few = ['first', 'second', 'third'].map(text => ({ tokens: 3, end: 'stop', text: `${text} ${text} ${text}` }))
  const cached: Target = (form, _, pair) =>
    form === 'streamed' ? { tokens: 90, end: 'length', text: 'other' } : (few[pair % 3] ?? null)
  expect(judge(cached, { pairs: 200 }).verdict).toBe('not-exercised')
})

test('nothing is compared that the scenario lets differ, or that is deterministic', () => {
  const liar = onlyStreamed(() => ({ tokens: 1, end: 'stop', text: 'no' }))
  expect(judge(liar, { mayDiffer: ['answer'] }).verdict).toBe('not-exercised')
  expect(judge(liar, { body: { temperature: 0, seed: 7 } }).messages).toEqual([])
})
