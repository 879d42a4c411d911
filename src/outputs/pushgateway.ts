import type { Output } from './output.ts'
import { renderFamilies } from './prometheus/scrape.ts'
import { verdictFamilies } from './prometheus/verdict-families.ts'
import { createPost, finishInTime, parseReceiver, type ReceiverLink } from './remote-write/receiver.ts'
import { createSendQueue } from './remote-write/send-queue.ts'
import type { ReadOutput } from './requested-output.ts'

const request = { method: 'PUT', headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } } as const

/** `--push-gateway`: the address of a Pushgateway. */
export const pushgatewayOutput: ReadOutput = (given, { flag, environment }) => {
  const variable = 'TURNPIKE_PUSH_GATEWAY_CREDENTIALS'
  const receiver = parseReceiver(flag, given, variable, environment[variable])
  return { create: ({ plan, linkTo }) => createPushgateway(linkTo(receiver, 'Pushgateway at'), plan.scenario) }
}

/**
 * Writes the verdict of a run to a Pushgateway. It replaces only the verdict of the last run of the
 * scenario. A Pushgateway keeps metrics until they are replaced or deleted.
 */
export function createPushgateway(link: ReceiverLink, scenario: string): Output {
  const { receiver, clock, note } = link
  const base = receiver.address.replace(/\/+$/, '')
  const group = { ...receiver, address: `${base}/metrics/job/turnpike/scenario/${scenario}` }
  const queue = createSendQueue({ clock, note, post: createPost({ ...link, receiver: group }, request) })
  return {
    start: () => {},
    finish: async (report, quit) => {
      const families = verdictFamilies(report)
      const samples = families.reduce((sum, family) => sum + family.samples().length, 0)
      queue.put({ body: Buffer.from(await renderFamilies(families)), samples })
      await finishInTime(clock, quit, queue.flush)
      link.reportCounts(queue.tally())
    },
    close: link.close,
  }
}
