export { type ProbeName, probeNames } from '../scenario/probe-names.ts'
