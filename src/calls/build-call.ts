import type { ReplayStep } from '../arrivals/arrivals.ts'
import type { Call as CallPlan } from '../plan/plan.ts'
import type { Call, Office } from './call.ts'
import { chatCall } from './chat.ts'
import { listCall } from './list.ts'
import { probeCall } from './probe.ts'
import { resourceCall } from './resource.ts'
import { rpcCall } from './rpc.ts'

/** Which request of which arrival: all that the content of a request depends on, but for who sends it. */
export type Place = { readonly headSeq: number; readonly step: ReplayStep }

/**
 * The request at this place. The same plan, seed and place give the same request at any time, so that a report can
 * show a request that nobody kept.
 */
export function buildCall(
  plan: CallPlan,
  { headSeq, step }: Place,
  headers: Readonly<Record<string, string>>,
  office: Office,
): Call {
  switch (plan.kind) {
    case 'chat':
      return chatCall(plan, headSeq, headers, office)
    case 'rpc':
      return rpcCall(plan, `${headSeq}`, null, headers, office)
    case 'replay': {
      const content = step === 'conflict' ? `${headSeq}/conflict` : `${headSeq}`
      const role = { group: headSeq, role: step === 'only' ? 'original' : step, concurrent: plan.concurrent } as const
      return rpcCall(plan.of, content, role, headers, office)
    }
    case 'models':
    case 'networks':
    case 'rate-limits':
    case 'rate-limit-logs':
      return listCall(plan.kind, headers, office)
    case 'resource':
      return resourceCall(plan, headSeq, headers, office)
    case 'probe':
      return probeCall(plan.probe, headers, office)
  }
}
