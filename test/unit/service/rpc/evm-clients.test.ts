import {
  Contract as EthersContract,
  FetchRequest,
  JsonRpcProvider,
  Transaction,
  type TransactionReceipt,
  Wallet,
} from 'ethers'
import { createPublicClient, http, parseAbi } from 'viem'
import { mainnet } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunningServer } from '../../../../src/service/server.ts'
import { serviceForClients } from '../../../support/service-for-clients.ts'

let server: RunningServer
let url: string

beforeAll(async () => {
  const started = await serviceForClients()
  server = started.server
  url = `${started.base}/crypto/rpc/ethereum-mainnet`
})
afterAll(() => server.close())

const holder = '0x00000000219ab540356cbb839cbe05303d7705fa'
const erc20 = parseAbi([
  'function decimals() view returns (uint8)',
  'function symbol() view returns (string)',
  'function name() view returns (string)',
  'function balanceOf(address) view returns (uint256)',
])

/** A value that the test requires to be there. */
function present<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error('nothing is there')
  return value
}

describe('ethers', () => {
  let provider: JsonRpcProvider

  beforeAll(() => {
    const request = new FetchRequest(url)
    request.setHeader('authorization', 'Bearer ref_default_ethers')
    provider = new JsonRpcProvider(request, undefined, { polling: true, pollingInterval: 50 })
  })
  afterAll(() => provider.destroy())

  test('reads the fees, the network and the head', async () => {
    const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = await provider.getFeeData()
    const { baseFeePerGas } = present(await provider.getBlock('latest'))
    expect(present(maxFeePerGas)).toBe(present(baseFeePerGas) * 2n + present(maxPriorityFeePerGas))
    expect(present(gasPrice)).toBeGreaterThan(present(maxPriorityFeePerGas))
    expect((await provider.getNetwork()).chainId).toBe(1n)
    expect(await provider.getBlockNumber()).toBeGreaterThan(20_000_000)
  })

  test('reads a block whose transactions, receipts and logs belong together', async () => {
    const block = present(await provider.getBlock('latest', true))
    expect(block.prefetchedTransactions.length).toBeGreaterThan(2)
    let gas = 0n
    for (const { hash, index } of block.prefetchedTransactions) {
      const transaction = present(await provider.getTransaction(hash))
      expect([transaction.blockHash, transaction.blockNumber, transaction.index]).toEqual([
        block.hash,
        block.number,
        index,
      ])
      const receipt: TransactionReceipt = present(await provider.getTransactionReceipt(hash))
      gas += receipt.gasUsed
      expect(receipt.cumulativeGasUsed).toBe(gas)
      expect(receipt.gasPrice).toBe(transaction.gasPrice)
      expect(receipt.logs.every(log => log.blockHash === block.hash && log.transactionHash === hash)).toBe(true)
      expect(present(await provider.waitForTransaction(hash, 1, 5_000)).hash).toBe(hash)
    }
    expect(gas).toBe(block.gasUsed)
    const logs = await provider.getLogs({ blockHash: present(block.hash) })
    const receipts = await Promise.all(block.transactions.map(hash => provider.getTransactionReceipt(hash)))
    expect(logs.map(log => log.index)).toEqual(logs.map((_, index) => index))
    expect(logs.map(log => log.topics)).toEqual(
      receipts.flatMap(receipt => present(receipt).logs.map(log => log.topics)),
    )
    const parent = present(await provider.getBlock(block.parentHash))
    expect(parent.number).toBe(block.number - 1)
  })

  test('calls a contract, estimates gas, and sends many calls as one batch', async () => {
    const token = new EthersContract(
      holder,
      [
        'function decimals() view returns (uint8)',
        'function symbol() view returns (string)',
        'function balanceOf(address) view returns (uint256)',
      ],
      provider,
    )
    expect(await Promise.all([token.getFunction('decimals')(), token.getFunction('symbol')()])).toEqual([18n, 'REF'])
    expect(await token.getFunction('balanceOf')(holder)).toBeTypeOf('bigint')
    expect(await provider.estimateGas({ to: holder, value: 1n })).toBe(21_000n)
    expect(await provider.getBalance(holder)).toBeGreaterThan(0n)
    expect(await provider.getTransactionCount(holder)).toBe(0)
    expect(await provider.getStorage(holder, 0n)).toMatch(/^0x[0-9a-f]{64}$/)
  })

  test('sends a transaction and gets its hash', async () => {
    const wallet = Wallet.createRandom()
    const fees = await provider.getFeeData()
    const signed = await wallet.signTransaction({
      to: holder,
      value: 1n,
      nonce: 0,
      gasLimit: 21_000n,
      chainId: 1n,
      maxFeePerGas: fees.maxFeePerGas,
      maxPriorityFeePerGas: fees.maxPriorityFeePerGas,
    })
    const sent = await provider.broadcastTransaction(signed)
    expect(sent.hash).toBe(Transaction.from(signed).hash)
  })

  test('gets a refusal as an error with its code', async () => {
    await expect(provider.send('eth_getBalance', ['invalid'])).rejects.toMatchObject({
      error: { code: -32_602, message: 'invalid params' },
    })
    await expect(provider.send('eth_accounts', [])).rejects.toMatchObject({ code: 'SERVER_ERROR' })
  })
})

describe('viem', () => {
  const client = () =>
    createPublicClient({
      chain: mainnet,
      pollingInterval: 50,
      transport: http(url, {
        batch: true,
        retryCount: 0,
        fetchOptions: { headers: { authorization: 'Bearer ref_default_viem' } },
      }),
    })

  test('reads blocks, transactions, receipts, logs and a proof', async () => {
    const block = await client().getBlock({ includeTransactions: true, blockTag: 'finalized' })
    const [first, second] = block.transactions
    expect(present(first).type).toBe('eip1559')
    const receipt = await client().waitForTransactionReceipt({ hash: present(second).hash })
    expect([receipt.status, receipt.blockHash]).toEqual(['success', block.hash])
    const logs = await client().getLogs({
      fromBlock: block.number,
      toBlock: block.number,
      address: present(receipt.logs[0]).address,
    })
    expect(logs.map(({ transactionHash }) => transactionHash)).toContain(receipt.transactionHash)
    const [sender] = present(receipt.logs[0]).topics.slice(1)
    const bySender = await client().getLogs({
      event: parseAbi(['event Transfer(address indexed from, address indexed to, uint256 value)'])[0],
      args: { from: `0x${present(sender).slice(26)}` },
      blockHash: block.hash,
    })
    expect(bySender.every(({ args }) => args.from?.toLowerCase() === `0x${present(sender).slice(26)}`)).toBe(true)
    expect(bySender.length).toBeGreaterThan(0)
    expect((await client().getProof({ address: holder, storageKeys: [block.hash] })).storageProof).toHaveLength(1)
  })

  test('estimates fees from a fee history of chained blocks', async () => {
    const { maxFeePerGas, maxPriorityFeePerGas } = await client().estimateFeesPerGas()
    expect(maxFeePerGas).toBeGreaterThan(maxPriorityFeePerGas)
    const history = await client().getFeeHistory({ blockCount: 4, rewardPercentiles: [10, 50, 90] })
    const blocks = await Promise.all(
      [0n, 1n, 2n, 3n].map(more => client().getBlock({ blockNumber: history.oldestBlock + more })),
    )
    expect(history.baseFeePerGas.slice(0, 4)).toEqual(blocks.map(({ baseFeePerGas }) => baseFeePerGas))
    expect(history.reward).toHaveLength(4)
    for (const [index, { hash, baseFeePerGas, gasUsed, gasLimit }] of blocks.entries()) {
      expect(index === 3 || blocks[index + 1]?.parentHash === hash).toBe(true)
      expect(history.baseFeePerGas[index + 1]).toBe(nextBaseFee(present(baseFeePerGas), gasUsed, gasLimit / 2n))
    }
  })

  test('reads many contracts with one call', async () => {
    const of = { address: holder, abi: erc20 } as const
    const results = await client().multicall({
      contracts: [
        { ...of, functionName: 'decimals' },
        { ...of, functionName: 'symbol' },
        { ...of, functionName: 'name' },
        { ...of, functionName: 'balanceOf', args: [holder] },
      ],
    })
    expect(results.slice(0, 3).map(({ result }) => result)).toEqual([18, 'REF', 'Reference Coin'])
    expect(results[3]?.result).toBe(await client().readContract({ ...of, functionName: 'balanceOf', args: [holder] }))
    expect(await client().estimateGas({ account: holder, to: holder, value: 1n })).toBe(21_000n)
  })

  test('finds no transaction and no block that the chain does not have', async () => {
    const hash = `0x${'ab'.repeat(32)}` as const
    await expect(client().getTransaction({ hash })).rejects.toMatchObject({ name: 'TransactionNotFoundError' })
    await expect(client().getBlock({ blockHash: hash })).rejects.toMatchObject({ name: 'BlockNotFoundError' })
    await expect(client().getBlock({ blockNumber: 1_000_000_000n })).rejects.toMatchObject({
      name: 'BlockNotFoundError',
    })
  })
})

/** EIP-1559. */
function nextBaseFee(fee: bigint, gasUsed: bigint, target: bigint): bigint {
  if (gasUsed === target) return fee
  const step = (fee * (gasUsed > target ? gasUsed - target : target - gasUsed)) / target / 8n
  return gasUsed > target ? fee + (step > 1n ? step : 1n) : fee - step
}
