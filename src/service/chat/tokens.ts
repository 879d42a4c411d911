/**
 * The tokens of a text: each word is one token per twelve characters begun. Crude, but enough for a service whose token
 * counts only have to be consistent.
 */
export function countTokens(text: string): number {
  let tokens = 0
  let run = 0
  for (let i = 0; i < text.length; i++) {
    run = isSpace(text.charCodeAt(i)) ? 0 : run + 1
    if (run % 12 === 1) tokens++
  }
  return tokens
}

/** Space, tab, line feed, carriage return. */
const isSpace = (code: number): boolean => code === 32 || code === 9 || code === 10 || code === 13

export const tokensPerMessage = 4
export const tokensPerPrompt = 3
/** A message part that is not text. */
export const tokensPerAttachment = 85
export const systemPromptTokens = 40
