import type { ClauseRows } from '../clause.ts'

/** The same content in several forms. Only a scenario that has twins asks for it. */
export const twinClauses = {
  'twin.accepted': [
    '4',
    'twins',
    'A request is not refused for its form: streamed, compressed, in a batch, with another key or of another caller.',
    { source: 'profile', exercisedBy: 'twin', evenIfRefused: true },
  ],
  'twin.tokens': ['2.4', 'twins', 'The same prompt has the same number of tokens in every form.', { source: 'profile', exercisedBy: 'twin-of-chat' }],
  'twin.text': [
    '2.4',
    'twins',
    'The text of a completion has about as many characters per token in every form.',
    { source: 'profile', exercisedBy: 'twin-of-chat', unseen: 'too few completions showed all of their tokens in two forms' },
  ],
  'twin.credits': ['4.3', 'twins', 'The same RPC call costs the same credits in every form.', { source: 'profile', exercisedBy: 'twin-of-rpc' }],
  'twin.result': [
    '4.3',
    'twins',
    'The same RPC call has the same result in every form, unless the scenario lets it differ.',
    { source: 'profile', exercisedBy: 'twin-of-rpc' },
  ],
  'twin.answer': [
    '2.4',
    'twins',
    'A completion with temperature 0 and a seed has the same text, tokens and price in every form, under load and alone.',
    { source: 'profile', isExtra: true, needs: 'a profile that promises it', exercisedBy: 'deterministic-twin' },
  ],
  'twin.length': [
    '2.4',
    'twins',
    'A completion that its token limit cuts ends with length.',
    { source: 'profile', isExtra: true, needs: 'a profile that promises it', exercisedBy: 'shorter-twin' },
  ],
  'twin.sampled': [
    '2.4',
    'twins',
    'Sampled completions have lengths, ends and words that do not depend on the form.',
    { source: 'profile', isExtra: true, needs: 'a profile that promises it', exercisedBy: 'sampled-twin' },
  ],
} satisfies ClauseRows
