/**
 * Waits for as long as a server is wanted. One that this program has started itself tells it the port and ends with it,
 * however it ends; a signal to the whole group is then the other's to handle. One that a person has started says what it
 * is and ends on a signal.
 */
export function serveUntilTold(port: number, lines: readonly string[]): Promise<void> {
  return new Promise(resolve => {
    if (process.send !== undefined) {
      process.send({ port })
      process.once('disconnect', resolve)
      process.on('SIGINT', () => {})
      return
    }
    for (const line of lines) process.stderr.write(`${line}\n`)
    process.once('SIGINT', resolve)
    process.once('SIGTERM', resolve)
  })
}
