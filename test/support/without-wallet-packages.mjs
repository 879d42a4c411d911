import { register } from 'node:module'

/** Loaded with `--import` into the program and each of its threads: as after `npm install --omit=optional`. */
const hooks = `export async function resolve(name, context, next) {
  if (!/^(viem|@x402|@solana|tiny-secp256k1)($|\\/)/.test(name)) return await next(name, context)
  throw Object.assign(new Error('Cannot find package ' + name), { code: 'ERR_MODULE_NOT_FOUND' })
}`

register(`data:text/javascript,${encodeURIComponent(hooks)}`)
