import type { Random } from '../lib/random.ts'

/**
 * Common English words, each of which is one token, with the space before it, in the tokenizers that are in wide use.
 * A prompt of n words is therefore n tokens, give or take what a chat template adds.
 */
const words = (
  'time year people way day man thing woman life child world school state family student group country problem hand ' +
  'part place case week company system program question work government number night point home water room mother ' +
  'area money story fact month lot right study book eye job word business issue side kind head house service friend ' +
  'father power hour game line end member law car city community name president team minute idea body information ' +
  'back parent face others level office door health person art war history party result change morning reason ' +
  'research girl guy moment air teacher force education foot boy age policy music market sense nation plan college ' +
  'interest death experience effect use class control field development role effort rate heart drug show leader light ' +
  'voice wife police mind price report decision son view relationship town road form value action model season society ' +
  'tax director position player record paper space ground event official matter center couple site project activity ' +
  'star table need court oil situation cost industry figure street image phone data picture practice piece land ' +
  'product doctor wall patient worker news test movie north love support technology step baby computer type film tree'
).split(' ')

/** A prompt of `tokens` tokens. Random prompts keep a target's prompt cache from answering for it. */
export function promptOf(tokens: number, random: Random): string {
  const chosen = Array.from({ length: tokens }, () => words[random.int(words.length)])
  return chosen.join(' ')
}
