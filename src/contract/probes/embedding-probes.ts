import { type Probe, type Probes, refused, toEmbed } from '../probe.ts'

/** An input that is neither a text nor a list of texts. */
const wrongInput = (input: unknown): Probe => ({
  clause: 'embeddings.token-ids',
  as: 'caller',
  draws: 'embedding',
  promised: refused,
  names: [],
  request: toEmbed(input),
})

export const embeddingProbes = {
  'token-ids': wrongInput([15339, 1917]),
  'lists-of-token-ids': wrongInput([[15339, 1917], [15339]]),
  'token-ids-among-texts': wrongInput(['hello', 15339]),
} as const satisfies Probes
