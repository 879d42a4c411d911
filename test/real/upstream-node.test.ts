import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { FetchRequest, JsonRpcProvider, Wallet } from 'ethers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reportSchema } from '../../src/report/document.ts'
import { type FakeUpstream, openAiServer, startFakeUpstream } from '../support/fake-upstream.ts'
import { freePort } from '../support/free-port.ts'
import { describeWith } from '../support/real-part.ts'
import { type RealProgram, startProgram } from '../support/real-program.ts'
import { withoutTimes } from '../support/shortened.ts'
import { freshDirectory, type Started, startTurnpike, turnpike } from '../support/turnpike.ts'

/** The first account of every Hardhat node. The key is public. */
const funded = 'ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'

describeWith('hardhat', 'the reference service in front of the node of Hardhat', () => {
  let node: RealProgram
  let chat: FakeUpstream
  let service: Started
  let target: string

  beforeAll(async () => {
    const hardhat = process.env.TURNPIKE_HARDHAT ?? ''
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    const folder = resolve(hardhat, '../../..')
    node = await startProgram(hardhat, ['node', '--port', String(port)], { origin, folder, ready: '/' })
    chat = await startFakeUpstream(openAiServer)
    service = startTurnpike(['service', '--port', '0', '--chat-upstream', chat.origin, '--rpc-upstream', origin])
    target = await service.said(/http:\S+\/api\/v1/)
  })
  afterAll(async () => {
    service?.child.kill('SIGKILL')
    await Promise.all([node?.kill(), chat?.close()])
  })

  test('passes the smoke scenario, with the errors and the prices of its document', async () => {
    const folder = freshDirectory()
    const [scenario, out] = [`${folder}/smoke.yaml`, `${folder}/run`]
    writeFileSync(scenario, withoutTimes('smoke'))
    const { code } = await turnpike(['run', scenario, '--target', target, '--quiet', '--out', out])
    const report = reportSchema.parse(JSON.parse(readFileSync(`${out}/report.json`, 'utf8')))
    expect(report.findings).toEqual([])
    expect([code, report.verdict]).toEqual([0, 'pass'])
    const passed = report.clauses.filter(({ verdict }) => verdict === 'pass').map(({ id }) => id)
    expect(passed).toEqual(expect.arrayContaining(['rpc.batch.error-price', 'rpc.replay.charge', 'chat.stream.usage']))
  })

  test('mines a transaction of ethers and charges for it', async () => {
    const request = new FetchRequest(`${target}/crypto/rpc/ethereum-mainnet`)
    request.setHeader('authorization', 'Bearer ref_default_miner')
    const provider = new JsonRpcProvider(request, undefined, { pollingInterval: 50 })
    const wallet = new Wallet(funded, provider)
    const to = Wallet.createRandom().address
    const sent = await wallet.sendTransaction({ to, value: 5n })
    const receipt = await sent.wait(1, 10_000)
    expect(receipt?.status).toBe(1)
    expect(await provider.getBalance(to)).toBe(5n)
    await expect(provider.send('eth_sendRawTransaction', ['0x01'])).rejects.toMatchObject({
      error: { code: expect.any(Number), message: expect.any(String) },
    })
    provider.destroy()
  })
})
