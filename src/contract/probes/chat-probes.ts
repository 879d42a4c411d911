import { type Probes, toChat } from '../probe.ts'

export const chatProbes = {
  'wrong-media-type': {
    clause: 'chat.media-type',
    as: 'caller',
    draws: 'chat',
    promised: () => [415],
    names: [],
    request: toChat(() => ({}), { 'content-type': 'text/plain' }),
  },
} as const satisfies Probes
