import { address, createDefaultRpcTransport, createSolanaRpcFromTransport, signature } from '@solana/kit'
import { Connection, Keypair, PublicKey, SystemProgram, Transaction } from '@solana/web3.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toBase58 } from '../../../../src/lib/base58.ts'
import type { RunningServer } from '../../../../src/service/server.ts'
import { serviceForClients } from '../../../support/service-for-clients.ts'

let server: RunningServer
let url: string
const headers = { authorization: 'Bearer ref_default_solana' }
const holder = '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T'

beforeAll(async () => {
  const started = await serviceForClients()
  server = started.server
  url = `${started.base}/crypto/rpc/solana-mainnet`
})
afterAll(() => server.close())

describe('@solana/web3.js', () => {
  const connection = () => new Connection(url, { commitment: 'confirmed', httpHeaders: headers })
  const account = new PublicKey(holder)

  test('reads accounts, slots, the supply and the largest accounts', async () => {
    const balance = await connection().getBalance(account)
    expect(balance).toBeGreaterThanOrEqual(0)
    expect((await connection().getAccountInfo(account))?.lamports).toBe(balance)
    expect(await connection().getSlot()).toBeGreaterThan(await connection().getBlockHeight())
    const { total, circulating, nonCirculating } = (await connection().getSupply()).value
    expect(circulating + nonCirculating).toBe(total)
    expect((await connection().getLargestAccounts()).value).toHaveLength(20)
    expect(await connection().getProgramAccounts(account)).toEqual([])
    expect(
      await connection().getTransaction(toBase58(Buffer.alloc(64, 9)), { maxSupportedTransactionVersion: 0 }),
    ).toBeNull()
  })

  test('signs, simulates, sends and confirms a transfer', async () => {
    const payer = Keypair.generate()
    const latest = await connection().getLatestBlockhash()
    const transfer = new Transaction({ feePayer: payer.publicKey, ...latest }).add(
      SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: account, lamports: 1 }),
    )
    expect((await connection().simulateTransaction(transfer, [payer])).value.err).toBeNull()
    const id = await connection().sendTransaction(transfer, [payer])
    expect(id).toBe(toBase58(transfer.signature ?? new Uint8Array()))
    expect((await connection().getSignatureStatuses([id])).value[0]?.confirmationStatus).toBe('finalized')
  })
})

describe('@solana/kit', () => {
  test('reads the same through its own types', async () => {
    const rpc = createSolanaRpcFromTransport(createDefaultRpcTransport({ url, headers }))
    expect((await rpc.getBalance(address(holder)).send()).value).toBeTypeOf('bigint')
    const { blockhash, lastValidBlockHeight } = (await rpc.getLatestBlockhash().send()).value
    expect(blockhash).toMatch(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/)
    expect(lastValidBlockHeight).toBeGreaterThan(await rpc.getBlockHeight().send())
    const { value } = await rpc.getSupply().send()
    expect(value.circulating + value.nonCirculating).toBe(value.total)
    const [status] = (await rpc.getSignatureStatuses([signature(toBase58(Buffer.alloc(64, 9)))]).send()).value
    expect(status?.err).toBeNull()
  })
})
