import { setTimeout as pause } from 'node:timers/promises'
import { readExposition } from './read-exposition.ts'
import type { Started } from './turnpike.ts'

export type Scrape = ReadonlyMap<string, number>

/** Scrapes the `--metrics` of a run repeatedly until it has ended. */
export async function scrapeToTheEnd({ said, ended }: Started): Promise<readonly Scrape[]> {
  const address = await said(/http:\S+\/metrics/)
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  const scrapes: Scrape[] = []
  for (; !isOver; await pause(100)) {
    // The server may close before or during a scrape.
    const text = await fetch(address).then(
      response => response.text(),
      () => null,
    )
    if (text !== null) scrapes.push(readExposition(text))
  }
  return scrapes
}
