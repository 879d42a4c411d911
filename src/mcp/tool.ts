import { z } from 'zod'
import { isObject, type JsonObject, parseObject } from '../lib/json.ts'
import { explainIssues } from '../lib/schemas.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { Allowance } from './permissions.ts'

/** How a command of Turnpike ended. `code` is null if a signal ended it. */
export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** Runs Turnpike with these arguments. An aborted signal ends it as ^C does. */
export type RunProgram = (
  args: readonly string[],
  options: { readonly signal: AbortSignal; readonly onLine?: (line: string) => void },
) => Promise<Ended>

/** What all tools share. */
export type ToolIo = {
  readonly program: RunProgram
  /** The working directory. Paths outside of it are refused. */
  readonly folder: string
  readonly allowance: Allowance
  readonly newRunDirectory: () => string
}

/** One call of a tool. */
export type ToolContext = ToolIo & {
  readonly signal: AbortSignal
  readonly onProgress: (progress: ToolProgress) => void
}

export type ToolProgress = { readonly elapsedS: number; readonly totalS: number; readonly message: string }

export type ToolResult = {
  /** For people; null: the data. */
  readonly text: string | null
  /** For programs; null: there are none. */
  readonly data: JsonObject | null
  /** The tool did not do what it should. */
  readonly isError: boolean
}

export type Tool = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: unknown
  /** Whether it changes nothing, neither on this machine nor at a target. */
  readonly isReadOnly: boolean
  /** Rejects with a UsageError for arguments that are wrong. */
  readonly call: (given: unknown, call: ToolContext) => Promise<ToolResult>
}

/** `z.strictObject` gives the schema that clients see, and the mistakes that they make. */
export function defineTool<Schema extends z.ZodType>(
  about: Pick<Tool, 'name' | 'title' | 'description' | 'isReadOnly'>,
  input: Schema,
  call: (given: z.infer<Schema>, call: ToolContext) => Promise<ToolResult>,
): Tool {
  return {
    ...about,
    inputSchema: z.toJSONSchema(input),
    call: async (given, io) => {
      const mistakes = explainIssues(input, given ?? {})
      if (mistakes.length > 0)
        throw new UsageError(mistakes.map(({ path, ...rest }) => ({ where: [about.name, ...path].join('.'), ...rest })))
      return await call(input.parse(given ?? {}), io)
    },
  }
}

export const listOf = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])

export const toolResult = (text: string | null, data: JsonObject): ToolResult => ({ text, data, isError: false })

/** What the program wrote for people. Its log is JSON. */
export function failure({ code, stderr }: Ended): ToolResult {
  const lines = stderr.split('\n').filter(line => parseObject(line) === null)
  const text = lines.join('\n').trim().slice(-4_000)
  return {
    text: text === '' ? `Turnpike ended with exit code ${code} and no result.` : text,
    data: null,
    isError: true,
  }
}
