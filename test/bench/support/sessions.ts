/** The sessions of benches: their turns, the tokens of an answer, and how fast a server writes them. */
export const turns = 3
export const tokens = 20
export const tokensPerSecond = 20

/** A scenario with this number of sessions in flight, if each turn takes a second. */
export const sessionsScenario = (sessions: number, seconds: number): string => `
name: bench
callers: { count: 1 }
calls:
  talk: { kind: conversation, model-tier: XS, turns: ${turns}, user-tokens: 16, max-completion-tokens: ${tokens}, think: 0s }
stages: [{ name: load, duration: ${seconds}s, shape: constant, rate: ${(sessions / turns).toFixed(1)}/s, mix: { talk: 1 } }]
bounds: { max-in-flight: ${4 * sessions} }
thresholds: [{ expect: violations == 0, why: The server keeps every promise. }]
`
