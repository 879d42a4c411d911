import { makeDashboard } from './board.ts'
import { creditsBoard } from './credits-board.ts'
import { limitsBoard } from './limits-board.ts'
import { runBoard } from './run-board.ts'

/** Every dashboard, by its file name in `dashboards/grafana/`. */
export const dashboards = Object.fromEntries(
  [runBoard, creditsBoard, limitsBoard].map(board => [
    `${board.uid.replace('turnpike-', '')}.json`,
    `${JSON.stringify(makeDashboard(board), null, 2)}\n`,
  ]),
)
