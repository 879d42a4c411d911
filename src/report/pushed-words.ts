import { plural } from '../lib/format.ts'
import type { LoadFacts } from './report.ts'

/** `12,345 samples pushed, 40 lost; 2 pushes not taken`. */
export const pushedWords = ({ takenSamples, lostSamples, failures }: NonNullable<LoadFacts['pushed']>): string =>
  `${plural(takenSamples, 'sample')} pushed, ${lostSamples} lost; ${plural(failures, 'push', 'pushes')} not taken`
