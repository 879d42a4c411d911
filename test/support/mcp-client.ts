import { copyFileSync, existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { TestContext } from 'vitest'
import { freshDirectory } from './turnpike.ts'

const main = resolve('dist/main.js')

/** A folder with scenarios, and a client of `turnpike mcp` there. */
export async function connectAgent(flags: readonly string[], onTestFinished: TestContext['onTestFinished']) {
  const folder = freshDirectory()
  for (const name of ['short.yaml', 'long.yaml']) copyFileSync(`test/e2e/${name}`, join(folder, name))
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [main, 'mcp', ...flags],
    cwd: folder,
    stderr: 'pipe',
  })
  const client = new Client({ name: 'test', version: '1.0.0' })
  /** Anything on stdout that is not the protocol. */
  const strange: string[] = []
  client.onerror = cause => void strange.push(cause.message)
  let stderr = ''
  transport.stderr?.on('data', bytes => {
    stderr += bytes
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  const call = async (name: string, given: Record<string, unknown>) => {
    const { content, structuredContent, isError } = await client.callTool({ name, arguments: given })
    const [first] = content
    return { text: first?.type === 'text' ? first.text : '', data: structuredContent as never, isError }
  }
  return { client, call, folder, strange, stderr: () => stderr }
}

/** The run directories below the folder. */
export const runsIn = (folder: string): readonly string[] =>
  existsSync(join(folder, 'runs')) ? readdirSync(join(folder, 'runs')).map(name => join('runs', name)) : []
