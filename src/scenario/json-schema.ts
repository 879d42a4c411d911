import { z } from 'zod'
import { scenarioSchema } from './schema.ts'

/** The JSON Schema of a scenario file, for editors. */
export function scenarioJsonSchema(): object {
  return { title: 'Turnpike scenario', ...z.toJSONSchema(scenarioSchema, { io: 'input' }) }
}
