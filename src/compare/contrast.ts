import { type Estimate, mean } from './estimates.ts'

/** How far a run is from its baselines, and how far it would be if nothing had changed. */
export type Contrast = {
  /** The mean of the baselines, on the scale on which points are compared. */
  readonly basePoint: number
  readonly shift: number
  /** Standard error of the shift. */
  readonly error: number
  readonly freedom: number
}

/** The noise floor counts as much as so many runs, beside what baselines show. */
const runsOfFloor = 4

/**
 * A run is one draw from the runs that there could have been, and varies more than its own slices show: by the machine,
 * the neighbours, the hour. So it is taken to vary by what its slices show and the noise floor on top, or by what the
 * baselines among each other show, whichever is more.
 */
export function contrast(run: Estimate, baselines: readonly Estimate[], noiseFloor: number): Contrast {
  const points = baselines.map(({ point }) => point)
  const basePoint = mean(points)
  const within = mean(baselines.map(({ variance }) => variance))
  const spread = points.reduce((sum, point) => sum + (point - basePoint) ** 2, 0)
  const seen: Varying = {
    variance: (runsOfFloor * (noiseFloor ** 2 + within) + spread) / (runsOfFloor + baselines.length - 1),
    freedom: runsOfFloor + baselines.length - 1,
  }
  const vary = (variance: number, freedom: number): Varying => {
    const stated = withFloor(variance, freedom, noiseFloor)
    return baselines.length > 1 && seen.variance > stated.variance ? seen : stated
  }
  const ofRun = vary(run.variance, run.freedom)
  const freedoms = baselines.map(({ freedom }) => freedom)
  const ofOneBaseline = vary(
    within,
    freedoms.reduce((sum, freedom) => sum + freedom, 0),
  )
  const ofBase = { ...ofOneBaseline, variance: ofOneBaseline.variance / baselines.length }
  const variance = ofRun.variance + ofBase.variance
  return {
    basePoint,
    shift: run.point - basePoint,
    error: Math.sqrt(variance),
    freedom: ofRun === seen || ofOneBaseline === seen ? seen.freedom : jointFreedom([ofRun, ofBase]),
  }
}

type Varying = { readonly variance: number; readonly freedom: number }

/** The floor is stated, not measured, and so adds certainty about the variance (Satterthwaite). */
function withFloor(variance: number, freedom: number, floor: number): Varying {
  const sum = variance + floor ** 2
  return { variance: sum, freedom: variance === 0 ? Number.POSITIVE_INFINITY : freedom * (sum / variance) ** 2 }
}

function jointFreedom(parts: readonly Varying[]): number {
  const sum = parts.reduce((total, { variance }) => total + variance, 0)
  const doubt = parts.reduce((total, { variance, freedom }) => total + variance ** 2 / freedom, 0)
  return doubt === 0 ? Number.POSITIVE_INFINITY : sum ** 2 / doubt
}
