import { scenarioJsonSchema } from '../../scenario/schema.ts'
import { exitCodes } from '../flags.ts'

export async function schemaCommand(): Promise<number> {
  process.stdout.write(`${JSON.stringify(scenarioJsonSchema(), null, 2)}\n`)
  return exitCodes.pass
}
