import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

/** Axe is of the npm registry. Where it is not installed, nothing is looked for. */
const tools = process.env.TURNPIKE_CI_TOOLS
export const hasAxe = tools !== undefined

/** What axe finds in a page by the rules of WCAG 2.1 at level AA, and is serious or worse. */
export async function seriousFaults(page: Page): Promise<readonly string[]> {
  // A page may allow no script of its own, so this one runs outside of it.
  await page.evaluate(readFileSync(join(tools ?? '', 'node_modules/axe-core/axe.min.js'), 'utf8'))
  return page.evaluate(`axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] })
    .then(({ violations }) => violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + nodes[0].html + ' ' + nodes[0].failureSummary))`)
}
