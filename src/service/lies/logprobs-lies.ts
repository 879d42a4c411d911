import { type Logprobs, logprobsOf, type TokenLogprob } from '../chat/completion.ts'
import { amended } from './amended.ts'
import { type Lie, type Lies, lie } from './lie.ts'

/** A lie about the log probabilities of a choice. */
const says = (name: string, does: string, change: (logprobs: Logprobs | null, content: string) => unknown): Lie =>
  lie(name, does, honest => ({
    choice: choice =>
      amended(honest.choice(choice), { logprobs: change(choice.logprobs, choice.message.content ?? '') }),
  }))

/** A lie about every position, the first one included. */
const saysOfEach = (name: string, does: string, change: (position: TokenLogprob) => object): Lie =>
  says(name, does, logprobs => logprobs && { ...change(logprobs), content: logprobs.content.map(change) })

export const logprobsLies = {
  'chat.logprobs': [
    saysOfEach('bytes-in-base64', 'The bytes of a token are a text in base64.', position => ({
      ...position,
      bytes: Buffer.from(position.bytes).toString('base64'),
    })),
    saysOfEach('logprob-as-text', 'Log probabilities are strings.', position => ({
      ...position,
      logprob: String(position.logprob),
    })),
  ],
  'chat.logprobs.asked': [
    says('logprobs-unasked', 'Log probabilities are always given.', (logprobs, word) => {
      return logprobs ?? logprobsOf([word], 0)
    }),
    says('logprobs-never', 'Log probabilities are never given.', () => null),
  ],
  'chat.logprobs.top': [
    saysOfEach('one-candidate-too-many', 'Each position has one token more with it than was asked for.', position => ({
      ...position,
      top_logprobs: [...position.top_logprobs, { token: '', logprob: -9, bytes: [] }],
    })),
  ],
  'chat.prompt-logprobs': [
    lie('prompt-logprobs-as-list', 'prompt_logprobs is a list.', honest => ({
      completionHead: head => ({ ...honest.completionHead(head), prompt_logprobs: [] }),
    })),
  ],
} as const satisfies Lies
