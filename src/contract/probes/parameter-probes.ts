import { type Probes, refused, toChat } from '../probe.ts'

export const parameterProbes = {
  'unknown-search-mode': {
    clause: 'parameters.invalid',
    as: 'caller',
    draws: 'chat',
    promised: refused,
    names: [],
    request: toChat(({ chat }) => ({ [chat.parametersField]: { enable_web_search: 'maybe' } })),
  },
} as const satisfies Probes
