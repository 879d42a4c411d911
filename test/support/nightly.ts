/** Whether there is time for every circumstance. Otherwise a sweep takes enough of them to show that it still works. */
export const isNightly = process.env.TURNPIKE_NIGHTLY === '1'
