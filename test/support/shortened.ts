import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/**
 * A shipped scenario with short stages, without its search, and without thresholds on times, which would measure the machine. Its profile and
 * its calls are unchanged.
 */
export function withoutTimes(name: string): string {
  const { stages, thresholds, ...rest } = parse(readFileSync(`scenarios/${name}.yaml`, 'utf8'))
  const shortened = {
    ...rest,
    stages: stages
      .filter(({ shape }: { readonly shape: string }) => shape !== 'capacity')
      .map((stage: object) => ({ ...stage, duration: '6s' })),
    thresholds: thresholds.filter(({ expect: each }: { readonly expect: string }) => !/^(p\(|capacity)/.test(each)),
  }
  // JSON is YAML.
  return `${JSON.stringify(shortened, null, 1)}\n`
}
