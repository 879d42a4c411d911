import type { Complain, Path } from '../lib/yaml.ts'
import type { Call } from './call.ts'
import type { Calls } from './resolve-calls.ts'
import type { Stage } from './scenario.ts'

/** Complains of a stage that saturates the target with what it cannot send, or with fewer calls than connections. */
export function checkSaturation(path: Path, stage: Stage, calls: Calls, complain: Complain): void {
  if (stage.shape !== 'saturate') return
  if (stage.maxCalls < stage.connections) {
    const expected = `at least ${stage.connections}, one for each connection`
    complain({ path: [...path, 'max-calls'], at: 'value', got: String(stage.maxCalls), expected })
  }
  for (const [name] of stage.mix) {
    const call = calls.get(name)
    const unfit = call ? unfitness(call) : null
    if (unfit === null) continue
    const expected = 'calls of one request that is to succeed and has one whole answer, for they follow without a pause'
    complain({ path: [...path, 'mix', name], at: 'key', got: `${name}, ${unfit}`, expected })
  }
}

/** Why connections cannot be kept busy with it; null: they can. */
function unfitness(call: Call): string | null {
  switch (call.kind) {
    case 'chat':
      return call.stream ? 'which is streamed' : null
    case 'rpc':
      return call.failing > 0 ? 'which fails on purpose' : null
    case 'replay':
      return 'which is several requests'
    case 'probe':
      return 'which is to be refused'
    case 'resource':
      return 'which is a resource'
    case 'models':
    case 'networks':
    case 'rate-limits':
    case 'rate-limit-logs':
      return null
  }
}
