import { type Probes, toChat } from '../probe.ts'

export const authProbes = {
  'bad-key': {
    clause: 'auth.bearer',
    as: 'bad-key',
    draws: null,
    promised: () => [401],
    names: [],
    request: toChat(() => ({})),
  },
} as const satisfies Probes
