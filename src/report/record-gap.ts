import { plural } from '../lib/format.ts'
import type { LoadFacts } from './report.ts'

/** What a reader must know of a record that is not whole; null of one that is. */
export const recordGap = ({ unrecorded }: LoadFacts): string | null =>
  unrecorded === 0
    ? null
    : `${plural(unrecorded, 'observation was', 'observations were')} judged but left out of the record: the disk did not keep up`
