/**
 * The role of a request among those that share an idempotency key. original: first use · duplicate: same body · other-key:
 * same body, another API key of the account · conflict: another body · other-caller: same key and body, another caller ·
 * late-repeat: same body, after a delay
 */
export const replayRoles = ['original', 'duplicate', 'other-key', 'conflict', 'other-caller', 'late-repeat'] as const

const ownForms = ['streamed', 'compressed', 'shorter', 'batched', 'other-order', 'alone'] as const
/** The forms in which a twin repeats the content of its first request. alone: as the first one, after a delay */
export const twinForms = [...ownForms, 'other-key', 'other-caller'] as const
/** What a form may change, if the scenario allows it. */
export const twinParts = ['tokens', 'credits', 'result', 'answer', 'price'] as const

/** turn: of the main line of a session · branch: the first turn of a branch of the last main turn · branch-turn: a later one */
const turnSteps = ['turn', 'branch', 'branch-turn'] as const

/** What a request is for in its arrival. A top-up that pays first asks how to. */
export const arrivalSteps = ['only', ...replayRoles, ...ownForms, 'offer', 'payment', ...turnSteps] as const
export type ArrivalStep = (typeof arrivalSteps)[number]

/** Whether a step repeats the turn of a session before it. */
const isReplayStep = (step: ArrivalStep | undefined): boolean =>
  step === 'duplicate' || step === 'other-key' || step === 'conflict' || step === 'other-caller'

/** How many replays of the step at `number` follow it. */
export function replaysOf(steps: readonly ArrivalStep[], number: number): number {
  let end = number + 1
  while (isReplayStep(steps[end])) end++
  return end - number - 1
}

/** The turn of a conversation that the step at `number` is, or repeats. */
export function repeatedTurn(steps: readonly ArrivalStep[], number: number): number {
  let turn = number
  while (turn > 0 && isReplayStep(steps[turn])) turn--
  return turn
}
