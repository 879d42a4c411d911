import type { Random } from '../lib/random.ts'

/**
 * Common English words, each of which is one token in the tokenizers that are in wide use (cl100k and o200k), with a
 * space before it and without. A prompt of n words is therefore n tokens, to which a chat template adds some.
 */
const words = (
  'time year people way day man thing woman life child world school state family student group country problem hand ' +
  'part place case week company system program question work government number night point home water room mother ' +
  'area money story fact month lot right study book eye job word business issue side kind head house service friend ' +
  'father power hour game line end member law car city community name bank team minute idea body information ' +
  'back parent face others level office door health person art war history party result change energy reason ' +
  'research girl board moment air teacher force education foot boy age policy music market sense nation plan college ' +
  'interest death experience effect use class control field development role color rate heart drug show leader light ' +
  'voice wife language mind price report decision son view relationship town road form value action model season series ' +
  'tax director position player record paper space ground event official matter center list site project activity ' +
  'star table need court oil access cost industry figure street image phone data picture practice piece land ' +
  'product doctor wall patient worker news test movie north love support technology step baby computer type film tree'
).split(' ')

/** A prompt of `tokens` tokens. Random prompts keep a target's prompt cache from answering for it. */
export function promptOf(tokens: number, random: Random): string {
  const chosen = Array.from({ length: tokens }, () => words[random.int(words.length)])
  return chosen.join(' ')
}
