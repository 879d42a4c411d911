import { spawnSync } from 'node:child_process'
import { median } from './support/child.ts'
import type { Bench, Figure } from './support/figure.ts'

const commands = [
  { args: ['--help'], maxMs: 150 },
  { args: ['plan', 'scenarios/smoke.yaml'], maxMs: 600 },
] as const

/** The duration of a command that sends nothing, from the start of its process to its end. */
export const benchStartup: Bench = async ({ short }) => {
  const rounds = short ? 5 : 21
  const bare: number[] = []
  const taken = commands.map((): number[] => [])
  for (let round = 0; round < rounds; round++) {
    bare.push(timeOf(['-e', '0']))
    for (const [index, { args }] of commands.entries()) taken[index]?.push(timeOf(['dist/main.js', ...args]))
  }
  console.log(`\nStart of a command, medians of ${rounds} rounds; Node.js alone ${median(bare).toFixed(0)} ms`)
  return commands.map(({ args, maxMs }, index): Figure => {
    const value = median(taken[index] ?? [])
    console.log(`  turnpike ${args.join(' ').padEnd(28)} ${value.toFixed(0)} ms`)
    return { name: `turnpike ${args.join(' ')}`, value, unit: 'ms', aim: { kind: 'at-most', bound: maxMs } }
  })
}

function timeOf(args: readonly string[]): number {
  const startedMs = performance.now()
  const { status, stderr } = spawnSync(process.execPath, [...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}: ${stderr}`)
  return performance.now() - startedMs
}
