/**
 * Words that once meant something inside this project only, each with the field's own word. The patterns are searched
 * in names, comments, texts and docs, in any case: `rehears` finds `rehearsal` and `createRehearsal` alike.
 */
export const privateWords: Readonly<Record<string, string>> = {
  purse: 'budget',
  '\\bcabs?\\b': 'driver context',
  docket: 'finding log',
  rehears: 'warm-up',
  reckon: 'compute; overlap bounds',
  errand: 'request, job',
  outfit: 'job and io',
  metronome: 'calibration server',
  outbox: 'send queue',
  turnover: 'charge totals',
  '\\btariff': 'price list',
  'catalogue(?=[a-z ])': 'list; only clause ids have it',
  behaviour: 'behavior',
  colour: 'color',
  unpaying: 'free user',
  '\\bcrew\\b': 'threads',
  retold: 'repeated',
  salvage: 'recover, parse',
  spoil: 'invalidate, damage',
  '\\bstranger': 'anonymous',
  '\\bdeaf': 'stalled',
  '\\bglance': 'snapshot',
  whoever: 'the request, caller or reader itself',
  'so many': 'at most N, at least N, N per second',
  'the most that': 'at most, maximum',
  'under way': 'in flight, running',
  'carr(?:y|ied|ies|ying) out': 'run, send',
}
