import { readFileSync } from 'node:fs'

/**
 * Runs the command lines of stdin, one after the other, in one process: each as the program runs it. Loading the modules
 * takes longer than most mistakes do. Prints what each of them did, as JSON.
 */
const commands = JSON.parse(readFileSync(0, 'utf8'))
const { stdout, stderr } = process
const write = { stdout: stdout.write, stderr: stderr.write }
const ended = []
for (const [index, { args, folder }] of commands.entries()) {
  const written = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'])
    process[name].write = bytes => {
      written[name] += bytes
      return true
    }
  process.chdir(folder)
  process.argv = [process.argv[0], process.argv[1], ...args]
  process.exitCode = undefined
  await import(`../../dist/main.js?${index}`)
  ended.push({ code: process.exitCode, ...written })
  for (const event of ['uncaughtException', 'unhandledRejection']) process.removeAllListeners(event)
  for (const stream of [stdout, stderr]) stream.removeAllListeners('error')
}
stdout.write = write.stdout
process.exitCode = 0
stdout.write(JSON.stringify(ended))
