import type { Contract } from './contract.ts'

/** So many failures that could not be helped fit in beside those that a run means to cause. */
const failureMargin = 5

/** The failures of one caller that a run may mean to cause in a window without being blocked for them. */
export const failuresToCause = ({ abuse }: Contract): number => Math.max(1, abuse.failures - failureMargin)
