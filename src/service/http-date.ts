/** The HTTP date of a Unix time; formatted once a second. */
export function httpDates(): (wallMs: number) => string {
  let second = Number.NaN
  let text = ''
  return wallMs => {
    const now = Math.floor(wallMs / 1000)
    if (now !== second) {
      second = now
      text = new Date(now * 1000).toUTCString()
    }
    return text
  }
}
