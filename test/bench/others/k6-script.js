// The script that k6 runs for the bench: one RPC call with one check.
import { check } from 'k6'
import http from 'k6/http'

const { EXECUTOR, TARGET, SUMMARY } = __ENV

export const options = {
  scenarios: { load: { ...JSON.parse(EXECUTOR), exec: 'send', gracefulStop: '5s' } },
  summaryTrendStats: ['med', 'p(99)'],
}

const url = `${TARGET}/api/v1/crypto/rpc/ethereum-mainnet`
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
const parameters = {
  headers: {
    'content-type': 'application/json',
    accept: 'application/json',
    authorization: 'Bearer ref_default_bench',
  },
}

export function send() {
  check(http.post(url, body, parameters), { 'status is 200': ({ status }) => status === 200 })
}

export const handleSummary = data => ({ [SUMMARY]: JSON.stringify(data) })
