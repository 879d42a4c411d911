import { describe, expect, test } from 'vitest'
import { clauseIds } from '../../src/contract/clauses.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { needsWallet } from '../../src/contract/probe.ts'
import { probeNames, probeOf } from '../../src/contract/probes.ts'
import { badSignIns, isBadSignIn } from '../../src/contract/wallets.ts'
import type { WalletCaller } from '../../src/produce/callers/caller.ts'
import { createSigner, type SignInOrder, walletKind } from '../../src/produce/callers/signer.ts'
import type { Lie } from '../../src/service/lies/lie.ts'
import { allLies, lieByName, lies } from '../../src/service/lies/lies.ts'
import { walletMoneyLies } from '../../src/service/lies/wallet-money.ts'
import { evmSignatures } from '../../src/service/wallets/evm-signatures.ts'
import { settings } from '../support/settings.ts'
import { virtualRun } from '../support/virtual-run.ts'
import { conversation, item, type RequestDescriptor } from '../unit/service/conversation.ts'

const pages = Array.from({ length: 6 }, (_, page) => `https://example.com/${page}`)
const withOptions = (options: object, more: object = {}) => ({
  max_completion_tokens: 60,
  ...more,
  service_parameters: options,
})

/** Requests with options of the service. */
const optionRequests: readonly Readonly<Record<string, unknown>>[] = [
  withOptions({ disable_thinking: true, enable_web_search: 'off', character_slug: 'ada' }),
  withOptions({ include_venice_system_prompt: true, enable_web_search: 'auto' }),
  withOptions({ strip_thinking_response: true }, { model: 'ref-medium-70b' }),
  withOptions({ disable_thinking: true }, { model: 'ref-medium-70b', stream: true }),
  withOptions(
    { enable_web_search: 'on', enable_web_citations: true, include_search_results_in_stream: true },
    { stream: true },
  ),
  withOptions({ enable_web_search: 'on', return_search_results_as_documents: true }),
  withOptions({ enable_web_scraping: true }, { messages: [{ role: 'user', content: pages.join(' ') }] }),
  {
    stream: true,
    tools: [{ type: 'function', function: { name: 'weather' } }],
    tool_choice: 'required',
  },
  { model: 'ref-nano-3b:strip_thinking_response=true&disable_thinking=true' },
]

/** All responses in a conversation that exercises every clause about API keys. */
async function transcript(activeLies: readonly Lie[]): Promise<string> {
  const { ask, chat, rpc, models, clock } = conversation({ lies: activeLies })
  const replies: unknown[] = [models()]
  const collect = (...more: readonly unknown[]) => replies.push(...more)
  const times = (count: number, reply: () => unknown) => Array.from({ length: count }, reply)
  const large = { model: 'ref-large-235b' }
  const keyed = (key: string, caller = 'ref_default_ada') => ({ key: caller, headers: { 'idempotency-key': key } })
  const mixed = [item('eth_call', 11), item('trace_block', 12), item('eth_call', 13, ['invalid'])]

  const offering = { ...documentedContract, auth: { required: true, noKey: [402] } }
  collect(conversation({ lies: activeLies, contract: offering }).ask({ path: '/chat/completions', key: null }))
  collect(ask({ method: 'GET', path: '/crypto/rpc/networks', key: null }))
  collect(
    ask({ method: 'GET', path: '/api_keys/rate_limits' }),
    ask({ method: 'GET', path: '/api_keys/rate_limits', key: 'nonsense' }),
  )
  collect(
    chat({ max_completion_tokens: 400 }),
    chat({ stream: true }),
    chat({ ...large, stream: true }),
    chat({}, 'ref_partner_ada'),
  )
  collect(
    ask({ path: '/chat/completions', headers: { 'content-type': 'text/plain' }, body: { model: 'ref-nano-3b' } }),
    chat({ n: 0 }),
  )
  collect(...optionRequests.map(body => chat(body, 'ref_default_cleo')))
  await clock.advanceTo(10_000)
  collect(
    rpc(item('eth_call', 7)),
    rpc(item('eth_call', 7, ['invalid'])),
    rpc(mixed),
    rpc(mixed),
    rpc(item('getSupply'), { network: 'solana-mainnet' }),
    rpc(item('starknet_call'), { network: 'starknet-mainnet' }),
    rpc([item('eth_call'), item('eth_sign')]),
  )
  collect(rpc(item('eth_newFilter')), rpc(['eth_foo', 'eth_bar', 'eth_sign'].map((method, id) => item(method, id))))
  collect(rpc(times(101, () => item('eth_chainId'))), rpc(times(100, () => item('eth_chainId'))))
  collect(
    rpc(mixed, keyed('k')),
    rpc(mixed, keyed('k')),
    rpc(mixed, keyed('k', 'ref_default_ada_2')),
    rpc(item('eth_call'), keyed('k')),
    rpc(mixed, keyed('k', 'ref_default_bob')),
  )
  collect(rpc(mixed), chat(), ...times(24, () => chat(large)), ...times(110, () => rpc(item('eth_call'))))
  await clock.advanceTo(40_000)
  collect(chat(large), chat(), rpc(item('eth_call')))
  await clock.advanceTo(65_000)
  collect(chat(large), chat(), rpc(item('eth_call')))
  await clock.advanceTo(72_000)
  collect(chat(large), rpc(item('eth_call')), ask({ method: 'GET', path: '/api_keys/rate_limit_logs' }))
  // Each probe has its own account, so no probe can cause the rejection of another.
  const ofKeys = probeNames.filter(name => !needsWallet(probeOf(name).as))
  collect(...ofKeys.map(name => ask({ ...probeOf(name).request(documentedContract), ...sender(name) })))
  collect(
    ...['', '_2'].map(which => ask({ method: 'GET', path: '/api_keys/rate_limits', key: `ref_default_two${which}` })),
  )
  const rejected = (key: string) => rpc(item('eth_newFilter'), { key })
  const untyped = (key: string) =>
    ask({ path: '/crypto/rpc/base-mainnet', key, headers: { 'content-type': 'text/plain' } })
  collect(...times(20, () => rejected('ref_default_eve')), rpc(item('eth_call'), { key: 'ref_default_eve' }))
  collect(...times(15, () => rejected('ref_default_cy')), ...times(7, () => untyped('ref_default_cy')))
  collect(...times(24, () => chat(large, 'ref_partner_cy')), ...times(60, () => chat(large, 'ref_partner_cy')))
  collect(...times(22, () => rejected('ref_default_dan')), chat({}, 'ref_default_dan'))
  await clock.advanceTo(101_000)
  collect(chat({}, 'ref_default_dan'))
  await clock.advanceTo(103_000)
  collect(chat({}, 'ref_default_dan'))
  for (const { method, path, body } of Object.values(documentedContract.resources)) {
    collect(ask({ method, path, body: body ?? '', headers: { 'x-service-request-timestamp-ms': '1767225600001' } }))
  }
  collect(ask({ path: '/image/generate', body: documentedContract.resources.image?.body, key: 'ref_partner_ada' }))
  collect(
    ask({ method: 'GET', path: '/characters?page=2&limit=3' }),
    ask({ method: 'GET', path: '/characters?limit=3' }),
  )
  for (const input of [['hello'], [1, 2], [[1], [2]], ['hello', 1]])
    collect(ask({ path: '/embeddings', body: { model: 'ref-embed', input } }))
  collect(...options.map((body, index) => chat(body, `ref_default_option-${index}`)))
  const marked = user({ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } })
  collect(chat(marked, 'ref_default_again'), chat(marked, 'ref_default_again'))
  const compressed = (key: string, body: object) =>
    ask({ path: '/chat/completions', key, headers: { 'accept-encoding': 'gzip' }, body })
  const short = { model: 'ref-nano-3b', messages: [{ role: 'user', content: 'Hello' }], max_completion_tokens: 16 }
  collect(compressed('ref_default_zip', short), compressed('ref_default_zip', { ...short, stream: true }))
  // Each needs more than half of the tokens of a minute, so the second is rejected.
  const huge = { ...large, n: 16, max_completion_tokens: 16_384 }
  collect(...times(2, () => chat(huge, 'ref_default_tok')))
  // An account with DIEM pays in DIEM.
  const diem = conversation({ lies: activeLies, diem: '1' })
  collect(diem.chat(), diem.rpc(item('eth_call', 'text')), diem.rpc(item('eth_call')), diem.rpc(item('eth_call')))
  // A key is still valid half a day after its use, and has expired on the next day.
  await clock.advanceTo(13 * 3_600_000)
  collect(rpc(mixed, keyed('k')))
  await clock.advanceTo(25 * 3_600_000)
  collect(rpc(mixed, keyed('k')))
  const faults = ([500, 503, 504] as const).map(status => ({ status, probability: 0.3 }))
  const faulty = conversation({ lies: activeLies, faults })
  const withoutBalance = conversation({ lies: activeLies, usd: '0' })
  collect(...times(20, () => faulty.chat()), withoutBalance.chat(), withoutBalance.rpc(item('eth_call')))
  const inDiem = conversation({ lies: activeLies, diem: '0.0001' })
  collect(inDiem.chat(), ...times(4, () => inDiem.rpc(item('eth_call', 'text'))))
  return JSON.stringify(replies)
}

/** Responses to wallets: one on each chain without credit, their bad sign-ins, and what anybody is offered. */
async function walletTranscript(activeLies: readonly Lie[]): Promise<string> {
  const { ask, clock } = conversation({ lies: activeLies })
  const { wallets: terms } = documentedContract
  const wallets = await Promise.all(
    Object.entries(terms.rails).flatMap(([chain, { family, network }]) =>
      ['5a', '6b'].map(async (byte): Promise<WalletCaller> => {
        const privateKey = byte.repeat(32)
        const address = (await walletKind(family)).addressOf(privateKey)
        return { kind: 'wallet', name: `${chain}-${byte}`, chain, family, network, address, privateKey }
      }),
    ),
  )
  await evmSignatures.load()
  const origin = 'http://localhost'
  const signer = createSigner({ wallets, terms, origin, solanaNode: null, runId: 'lies' })
  const { header, legacyHeader } = terms.signIn
  const replies: unknown[] = [ask({ path: terms.topUp.path, key: null })]
  let firstNonce = 0
  for (const { name: wallet } of wallets) {
    const sign = async (flaw?: SignInOrder['flaw']) => {
      const values = await signer.signIns({
        wallet,
        firstNonce: firstNonce++,
        count: 1,
        issuedMs: clock.wallMs(),
        flaw,
      })
      return values[0] ?? ''
    }
    const send = (probe: string, value: string, name = header) => {
      const { headers, ...request } = probeOf(probe).request(documentedContract)
      replies.push(ask({ ...request, key: null, headers: { ...headers, [name.toLowerCase()]: value } }))
    }
    const first = await sign()
    for (const value of [first, first, await sign()]) send('repeated-sign-in', value)
    send('expired-sign-in-to-chat', await sign())
    send('repeated-sign-in', await sign(), legacyHeader ?? header)
    send('balance-of-another-wallet', await sign())
    for (const flaw of Object.keys(badSignIns))
      if (isBadSignIn(flaw) && flaw !== 'repeated-sign-in') send(flaw, await sign(flaw))
    // Its balance shows whether they cost anything.
    send('repeated-sign-in', await sign())
  }
  return JSON.stringify(replies)
}

const user = (...content: readonly unknown[]) => ({ messages: [{ role: 'user', content }] })

/** Valid options of a request, one at a time, at both ends of their range. */
const options: readonly Readonly<Record<string, unknown>>[] = [
  { frequency_penalty: 2 },
  { frequency_penalty: -2 },
  { max_temp: 2 },
  { max_temp: 0 },
  { logprobs: true },
  { logprobs: false },
  { logprobs: true, top_logprobs: 0 },
  { n: 2 },
  { max_tokens: 8 },
  { max_tokens: 0 },
  { max_tokens: -1 },
  { prompt_cache_key: 'key' },
  { no_such_member: true },
  { model: 'ref-nano-1b' },
  { messages: [{ role: 'user', content: 'Hello there' }] },
  { messages: [{ role: 'system', content: 'Be brief.' }] },
  user({ type: 'text', text: 'a' }),
  user({ type: 'text', text: 'Hello' }, { type: 'text', text: 'there' }),
  user({ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } }),
]

function sender(name: string): Partial<RequestDescriptor> {
  const { as, request } = probeOf(name)
  const { headers } = request(documentedContract)
  if (as === 'anonymous') return { key: null }
  if (as === 'other-scheme') return { key: null, headers: { ...headers, authorization: 'Basic bm90LWE6a2V5' } }
  return { key: as === 'bad-key' ? 'nonsense' : `ref_${as === 'caller' ? 'default' : as}_${name}` }
}

const honest = await transcript([])
const honestToWallets = await walletTranscript([])

test('the honest service gives equal responses in two runs', async () => {
  expect(await transcript([])).toBe(honest)
  expect(await walletTranscript([])).toBe(honestToWallets)
})

test('every clause has a lie, and names of lies are unique', () => {
  expect(Object.keys(lies).toSorted()).toEqual([...clauseIds].toSorted())
  expect(new Set(allLies.map(({ name }) => name)).size).toBe(allLies.length)
  for (const { name } of allLies) expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
})

const aboutMoney = new Set(
  Object.values(walletMoneyLies)
    .flat()
    .map(({ name }) => name),
)

const paying = settings.filter(({ name }) => name.includes('on Base') || name.startsWith('wallet'))

/** The responses to wallets that pay. The result of a payment has chance in it: the nonce that the x402 client draws. */
async function paidTranscript({ run }: (typeof paying)[number], activeLies: readonly Lie[]): Promise<string> {
  const { observations } = await virtualRun({ ...run, lies: activeLies })
  return JSON.stringify(
    observations.map(({ response }) => [
      response?.status,
      { ...response?.headers, 'payment-response': '' },
      response?.body,
    ]),
  )
}

const honestPaid = new Map(
  await Promise.all(paying.map(async setting => [setting, await paidTranscript(setting, [])] as const)),
)

test.each(paying)('the responses to wallets that pay are the same each time: $name', async setting => {
  expect(await paidTranscript(setting, [])).toBe(honestPaid.get(setting))
})

/** Whether a lie shows in a setting: one is enough. */
async function changesPayments(activeLies: readonly Lie[]): Promise<boolean> {
  for (const [setting, honestTranscript] of honestPaid)
    if ((await paidTranscript(setting, activeLies)) !== honestTranscript) return true
  return false
}

describe('a lie changes the responses', () => {
  test.each(allLies.map(({ name, clause }) => ({ name, clause })))('$name ($clause)', async ({ name }) => {
    const lie = lieByName(name)
    expect(lie?.name).toBe(name)
    const activeLies = lie === undefined ? [] : [lie]
    if (aboutMoney.has(name)) return expect(await changesPayments(activeLies)).toBe(true)
    // Signatures take long, so wallets are asked only if API keys saw nothing.
    if ((await transcript(activeLies)) !== honest) return
    expect(await walletTranscript(activeLies)).not.toBe(honestToWallets)
  })
})

test('a lie keeps no state between services', async () => {
  const third = lieByName('third-charge-lost')
  const activeLies = third === undefined ? [] : [third]
  expect(await transcript(activeLies)).toBe(await transcript(activeLies))
})

test('the service still responds with all lies together', async () => {
  await expect(transcript(Object.values(lies).flat())).resolves.not.toBe(honest)
})

test('an unknown name returns no lie', () => {
  expect(lieByName('the-truth')).toBeUndefined()
})
