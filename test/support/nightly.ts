/** Whether there is time for every circumstance. Otherwise a test takes a part of them, which changes from day to day. */
export const isNightly = process.env.TURNPIKE_NIGHTLY === '1'

/** `TURNPIKE_DAY=2026-11-26` takes the part of that day. `vitest.config.ts` sets it to today, so that all threads agree. */
const day = Date.parse(process.env.TURNPIKE_DAY ?? new Date().toISOString().slice(0, 10)) / 86_400_000
if (!Number.isInteger(day)) throw new Error(`TURNPIKE_DAY: got ${process.env.TURNPIKE_DAY}, expected YYYY-MM-DD`)

/** Every n-th item for n parts, beginning elsewhere on each day, so that n days take all. By night, all at once. */
export const todays = <T>(items: readonly T[], parts: number): readonly T[] =>
  isNightly ? items : items.filter((_, index) => (index + day) % parts === 0)
