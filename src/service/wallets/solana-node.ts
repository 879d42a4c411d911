import type { Rail } from '../../contract/wallets.ts'
import { toBase58 } from '../../lib/base58.ts'
import { isObject, parseJson, plainText } from '../../lib/json.ts'
import { jsonReply, type Reply, type RequestState } from '../message.ts'
import { digestHex } from './identity.ts'

const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const mintBytes = 82
/** Where the account of a mint has its decimals, and whether it is initialized. */
const decimalsAt = 44
const initializedAt = 45
const slot = 300_000_000
const blockhashMs = 60_000

/** The two methods of a Solana node that a client needs to build a payment: they read the mint and a recent block. */
export function solanaNode(rails: readonly Rail[]): (state: RequestState) => Reply {
  const mints = new Map(rails.filter(({ family }) => family === 'solana').map(rail => [rail.asset, rail.decimals]))
  return state => {
    const request = parseJson(state.request.body)
    const { method, params, id } = isObject(request) ? request : {}
    const answer = (more: object) => jsonReply(state, { jsonrpc: '2.0', id: id ?? null, ...more })
    const result = (value: unknown) => answer({ result: { context: { apiVersion: '2.0.0', slot }, value } })
    const [address] = Array.isArray(params) ? params : []
    switch (method) {
      case 'getAccountInfo': {
        const decimals = mints.get(plainText(address))
        return result(decimals === undefined ? null : mintAccount(decimals))
      }
      case 'getLatestBlockhash': {
        const block = Math.floor(state.arrivedMs / blockhashMs)
        const blockhash = toBase58(Buffer.from(digestHex(`block/${block}`), 'hex'))
        return result({ blockhash, lastValidBlockHeight: slot + 150 })
      }
      default:
        return answer({ error: { code: -32601, message: 'Method not found' } })
    }
  }
}

function mintAccount(decimals: number) {
  const data = Buffer.alloc(mintBytes)
  data[decimalsAt] = decimals
  data[initializedAt] = 1
  return {
    data: [data.toString('base64'), 'base64'],
    executable: false,
    lamports: 1_461_600,
    owner: tokenProgram,
    rentEpoch: 0,
    space: mintBytes,
  }
}
