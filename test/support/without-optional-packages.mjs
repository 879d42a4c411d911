import { register } from 'node:module'

/**
 * Loaded with `--import` into the program and each of its threads: as after `npm install --omit=optional`. Writes the
 * name of each such package that the program wants to the standard error.
 */
const hooks = `import { writeSync } from 'node:fs'
export async function resolve(name, context, next) {
  if (!/^(viem|@x402|@solana|tiny-secp256k1|bullmq|ioredis)($|\\/)/.test(name)) return await next(name, context)
  writeSync(2, 'wanted: ' + name + '\\n')
  throw Object.assign(new Error('Cannot find package ' + name), { code: 'ERR_MODULE_NOT_FOUND' })
}`

register(`data:text/javascript,${encodeURIComponent(hooks)}`)
