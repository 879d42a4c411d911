import autocannon from 'autocannon'

/** Bare autocannon on one call, without any check, after a warm-up of a second. Arguments: port, connections, seconds. */
const [port, connections, seconds] = process.argv.slice(2)
const saturate = (duration: number) =>
  autocannon({
    url: `http://127.0.0.1:${port}/api/v1/crypto/rpc/ethereum-mainnet`,
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer ref_default_bench' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }),
    connections: Number(connections),
    duration,
  })
await saturate(1)
const result = await saturate(Number(seconds))
process.send?.({ perSecond: result['2xx'] / Number(seconds), failed: result.non2xx + result.errors })
process.once('disconnect', () => process.exit())
