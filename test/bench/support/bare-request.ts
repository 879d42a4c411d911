/** The call of the programs that send without Turnpike: the same bytes as one of Turnpike's. */
export const bareRequest = {
  path: '/api/v1/crypto/rpc/ethereum-mainnet',
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    accept: 'application/json',
    authorization: 'Bearer ref_default_bench',
  },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }),
} as const
