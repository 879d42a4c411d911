/** The crafted requests that a scenario may send, each of which the service must refuse in a documented way. */
export const probeNames = [
  'bad-key',
  'wrong-media-type',
  'unsupported-method',
  'unsupported-methods-in-batch',
  'batch-too-long',
] as const

export type ProbeName = (typeof probeNames)[number]
