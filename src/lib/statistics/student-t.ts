/** The probability that Student's t exceeds `t`. The degrees of freedom may be infinite. */
export function tSurvival(t: number, freedom: number): number {
  if (t < 0) return 1 - tSurvival(-t, freedom)
  if (t === Number.POSITIVE_INFINITY) return 0
  const bounded = Math.min(freedom, maxFreedom)
  return incompleteBeta(bounded / (bounded + t * t), bounded / 2, 0.5) / 2
}

/** The value that Student's t exceeds with the probability `tail`, which is below 0.5. */
export function tQuantile(tail: number, freedom: number): number {
  let low = 0
  let high = 1
  while (tSurvival(high, freedom) > tail) high *= 2
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2
    if (tSurvival(middle, freedom) > tail) low = middle
    else high = middle
  }
  return high
}

const maxFreedom = 1e6

/** The regularized incomplete beta function, by Lentz's continued fraction. */
export function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0
  if (x >= 1) return 1
  // The fraction converges quickly only on this side.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a)
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a
  const awayFromZero = (value: number) => (Math.abs(value) < 1e-300 ? 1e-300 : value)
  let c = 1
  let d = 1 / awayFromZero(1 - ((a + b) * x) / (a + 1))
  let fraction = d
  for (let m = 1; m <= maxTerms; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / awayFromZero(1 + even * d)
    c = awayFromZero(1 + even / c)
    fraction *= d * c
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / awayFromZero(1 + odd * d)
    c = awayFromZero(1 + odd / c)
    const factor = d * c
    fraction *= factor
    if (Math.abs(factor - 1) < 1e-14) break
  }
  return front * fraction
}

const maxTerms = 10_000

/** The logarithm of the gamma function. Stirling's series is precise enough from 10; the recurrence shifts smaller values there. */
export function logGamma(x: number): number {
  let shift = 0
  let z = x
  for (; z < 10; z++) shift += Math.log(z)
  const inverse = 1 / (z * z)
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / z
  return (z - 0.5) * Math.log(z) - z + Math.log(2 * Math.PI) / 2 + series - shift
}
