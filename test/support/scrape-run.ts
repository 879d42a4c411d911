import { setTimeout as pause } from 'node:timers/promises'
import { readExposition } from './read-exposition.ts'
import type { Started } from './turnpike.ts'

export type Scrape = ReadonlyMap<string, number>

/** What a run shows at its `--metrics`, again and again until it has ended. */
export async function scrapeToTheEnd({ said, ended }: Started): Promise<readonly Scrape[]> {
  const address = await said(/http:\S+\/metrics/)
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  const scrapes: Scrape[] = []
  for (; !isOver; await pause(100)) {
    // It goes away in the middle of one, or before.
    const text = await fetch(address).then(
      response => response.text(),
      () => null,
    )
    if (text !== null) scrapes.push(readExposition(text))
  }
  return scrapes
}
