import type { Cancel, Clock } from '../../lib/clock.ts'
import type { Plan } from '../../plan/plan.ts'
import { renderHtmlSections } from '../../report/render/html.ts'
import { renderHtml } from '../../report/render/renderers.ts'
import { listenMistake, parseAddress, reserveAddress } from '../http-server.ts'
import type { LiveRun, Output } from '../output.ts'
import { snapshotsOf } from '../progress.ts'
import type { ProgressSnapshot } from '../progress-snapshot.ts'
import type { ReadOutput } from '../requested-output.ts'
import { liveBlocks } from './live-blocks.ts'
import { type Frame, type PageServerOptions, startPageServer } from './page-server.ts'

/** Pages change at most once per second. */
const frameEveryMs = 1_000
/** Making frames takes at most this share of the time of a core. */
const maxShare = 0.1

export type LivePageOptions = Pick<PageServerOptions, 'host' | 'port' | 'token' | 'end'> & {
  readonly clock: Clock
  /** Whether the run has been told to end. */
  readonly isEnding: () => boolean
}

/** `--ui`: the address of the live page. TURNPIKE_UI_TOKEN allows other machines to end the run. */
export const livePageOutput: ReadOutput = (given, { flag, environment }) => {
  const address = parseAddress(flag, given, { usualPort: 8400, allowsPort: true })
  const token = environment.TURNPIKE_UI_TOKEN || null
  return {
    reserve: () => reserveAddress(flag, address),
    create: async ({ plan, clock, stop, interrupt }) => {
      const options = { ...address, token, clock, end: interrupt, isEnding: () => stop.aborted }
      const page = await createLivePage(plan, options).catch(cause => {
        throw listenMistake(cause, { ...address, hostFlag: flag, portFlag: flag })
      })
      return { ...page, needs: 'details', note: `Watch the run at ${pageAddress(address.host, page.port)}` }
    },
  }
}

/** An address that a browser on this machine can open. */
function pageAddress(host: string, port: number): string {
  const name = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}/`
}

/**
 * Serves one page that shows the run, and in the end its report. It reads the run only while a page is open. Rejects if
 * it cannot listen at the address.
 */
export async function createLivePage(
  plan: Plan,
  { clock, isEnding, ...options }: LivePageOptions,
): Promise<Output & { readonly port: number }> {
  let frame: (() => Frame) | null = null
  let live: Pick<LiveRun, 'watch' | 'refresh'> = { watch: () => {}, refresh: async () => {} }
  let cancel: Cancel = () => {}
  let isTicking = false
  let isOpen = true

  /** Shows the run again and again, as long as a page is open. */
  function tick(): void {
    isTicking = server.isWatched() && isOpen && frame !== null
    live.watch(isTicking)
    if (!isTicking) return
    void live.refresh().then(() => {
      if (!isOpen || frame === null) return
      const startMs = clock.nowMs()
      server.show(drawn(frame, plan.scenario))
      const endMs = clock.nowMs()
      cancel = clock.at(endMs + Math.max(frameEveryMs, (endMs - startMs) / maxShare), tick)
    })
  }
  const onWatched = () => {
    if (!isTicking) tick()
  }
  const server = await startPageServer({ ...options, clock, scenario: plan.scenario, onWatched })
  const stop = () => {
    isOpen = false
    cancel()
  }
  return {
    port: server.port,
    start: run => {
      const snapshot = snapshotsOf(plan, run, clock)
      live = run
      frame = () => frameOf(run, snapshot(), isEnding())
      onWatched()
    },
    finish: async (report, quit) => {
      stop()
      await server.conclude(renderHtml(report), quit)
    },
    close: async () => {
      stop()
      await server.close()
    },
  }
}

/** A page that cannot be drawn must not end the run. */
function drawn(frame: () => Frame, title: string): Frame {
  try {
    return frame()
  } catch (fault) {
    return { title, note: `This page cannot be drawn, which is a bug: ${fault}`, isEnding: false, sections: [] }
  }
}

function frameOf(live: LiveRun, progress: ProgressSnapshot, isEnding: boolean): Frame {
  const report = live.report()
  const note = isEnding ? 'The run ends. It waits for the responses to its requests.' : stageNote(progress)
  if (report === null) return { title: progress.scenario, note: waitNote(live), isEnding, sections: [] }
  const sections = renderHtmlSections(liveBlocks({ report, progress, workers: live.workers() }))
  return { title: `${report.verdict} so far: ${progress.scenario}`, note, isEnding, sections }
}

const stageNote = ({ stage }: ProgressSnapshot): string =>
  stage.planned === null ? 'The run is outside of its stages: it asks for balances.' : 'The run goes on.'

const waitNote = (live: LiveRun): string =>
  live.workers().length === 0
    ? 'Waiting for the first figures.'
    : 'Start the run with --ui, so that it keeps what this page shows.'
