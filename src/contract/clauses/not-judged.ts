import type { UnjudgedClause } from '../clause.ts'

/** What no run can observe: section, sentence, and why not. */
const unobservable = {
  'excused.prompt-cache-routing': [
    '2.1',
    'Requests with one prompt_cache_key are routed to the same backend.',
    'No answer tells which backend gave it, and a cache may miss for other reasons.',
  ],
  'excused.system-prompt': [
    '2.3',
    'The default system prompts come with a request, and go where they are switched off.',
    'A service need not count the tokens of its own prompts, which are not given. That the option is taken and echoed is judged.',
  ],
  'excused.reasoning-returned': [
    '2.4',
    'reasoning_details and thought_signature are passed back exactly as received.',
    'That is a duty of the caller, and what becomes of one who neglects it is not given.',
  ],
  'excused.prompt-cache-hit': [
    '2.2',
    'The system prompt, and what cache_control marks, is cached.',
    'A cache may miss at any time. What an answer says of it, and what that costs, is judged.',
  ],
  'excused.cache-ttl': [
    '2.2',
    'The ttl of cache_control makes a cache last longer.',
    'It takes a header that the document does not name. That its type is looked at is judged.',
  ],
  'excused.multimodal': [
    '2.2',
    'Images, audio, video and files are taken by models that are compatible.',
    'Which models are is open, and so is the shape of these parts.',
  ],
  'excused.files-as-text': ['2.2', 'Files are made text before they reach the model.', 'No answer tells what the model was given.'],
  'excused.scraping-bypasses-search': [
    '2.3',
    'Scraped pages, and the third-party search, bypass the standard web search.',
    'No answer tells where a source was found, and a page may be found in either way.',
  ],
  'excused.scraping-billed-by-success': [
    '2.3',
    'Only pages that were scraped successfully are billed.',
    'The price is open, and no answer tells which pages could not be read.',
  ],
  'excused.search-auto': ['2.3', 'With the mode auto the model decides whether to search.', 'Both decisions are right.'],
  'excused.character': [
    '2.3',
    'character_slug gives the answer the persona of a public character.',
    'A persona shows in the wording only. That the option is taken and echoed is judged.',
  ],
  'excused.e2ee': [
    '2.3',
    'enable_e2ee encrypts from end to end where the model is capable of it.',
    'Neither the keys nor the form of such content are given, nor which models are capable of it.',
  ],
  'excused.thinking-disabled': [
    '2.3',
    'disable_thinking has supported models not think at all.',
    'Which models support it is open. That no think block is left is judged.',
  ],
  'excused.diem-of-the-day': [
    '1',
    'Staking DIEM yields credits every day, 1 DIEM being worth 1 USD.',
    'Staking is no part of the interface, and no run lasts for a day. That a DIEM pays for what a USD pays for is judged.',
  ],
  'excused.bundled-credits': ['2.4', 'In the USD part of a cost bundled credits count as their worth in USD.', 'No answer shows a balance of bundled credits.'],
  'excused.rpc-forwarding': [
    '4.3',
    'Requests are forwarded to a node of the network, and its response comes back.',
    'Nobody but the proxy sees the node. The form of what comes back is judged.',
  ],
  'excused.replay-upstream': [
    '4.3',
    'A replay makes no call to the node.',
    'Nobody but the proxy sees the node. That a replay is the same byte for byte, and free, is judged.',
  ],
  'excused.replay-of-errors': [
    '4.3',
    'Responses are cached, whatever they say.',
    'Whether a refusal is a response in this sense is open; replays of batches with failing items are judged.',
  ],
  'excused.invalid-item': [
    '4.3',
    'Each item of a batch is validated by itself.',
    'What becomes of a batch with an item of a wrong form is not said. Methods that are not supported, and parameters that fail, are judged.',
  ],
  'excused.beta-analytics': [
    '1',
    'Billing and usage analytics are in beta, and may change without notice.',
    'It promises nothing. That they are there, and their pages and headers, is judged.',
  ],
  'excused.prices-of-media': [
    '1',
    'Usage is paid from prepaid credits, that of images, audio, video and embeddings included.',
    'No price is given, and no answer tells what it cost. Whether a balance falls at most as far as the profile says is in the ledger.',
  ],
  'excused.job-states': [
    '3',
    'Audio and video are made by jobs that go on after their answer.',
    'Their states and transitions are not given. That they are there, and their limits, is judged.',
  ],
  'excused.support-id': ['4.4', 'CF-RAY is to be logged for support.', 'It is advice to the caller, which a run follows: a finding names it.'],
  'excused.content-violation': [
    '4.4',
    'Whether content violates a rule, is adult or was blurred is in headers, where it does or was.',
    'A run does not ask for such content. That the headers are true or false is judged.',
  ],
  'excused.contains-minor': [
    '4.4',
    'The analysis of an image with age detection says whether it shows a minor.',
    'No endpoint for it is given. Where the header is sent, it must be true or false.',
  ],
  'excused.web-client-version': [
    '4.4',
    'Requests of the own web client of the service are answered with the version of its middle layer.',
    'A run is not that client.',
  ],
  'excused.mobile-version': ['4.4', 'Requests of the mobile app are answered with its version.', 'A run is not that app.'],
  'excused.auth-refreshed': [
    '4.4',
    'A token that was refreshed during the request is said to be.',
    'An API key is not refreshed. Where the header is sent, it must be true or false.',
  ],
  'excused.compatibility': [
    '9',
    'Endpoints and parameters of v1 stay compatible.',
    'It is about the next version of the service; runs of today and of then show it together.',
  ],
} satisfies Readonly<Record<string, readonly [section: string, text: string, because: string]>>

/** What can be judged, and is not yet: all that the document says of wallets. */
const later = {
  'wallet.inference': ['5', 'A signed payload in SIGN-IN-WITH-X is taken in place of an API key for inference.'],
  'wallet.rpc': ['4.3', 'The RPC proxy takes a wallet in place of an API key.'],
  'wallet.legacy-header': ['5', 'The payload is taken in X-Sign-In-With-X, too.'],
  'wallet.evm': ['5', 'A wallet of an EVM chain signs an EIP-4361 message.'],
  'wallet.solana': ['5', 'A wallet of Solana signs a sign-in message with Ed25519.'],
  'wallet.failed': ['5', 'A payload that does not authenticate is answered with 401.'],
  'wallet.no-account': ['5', 'A wallet needs no account.'],
  'wallet.limits': ['5', 'A wallet has the same limits as an API key.'],
  'wallet.billing': ['5', 'A wallet is billed as an API key is, for RPC in credits against the same balance.'],
  'wallet.top-up.offer': ['4.1', 'A top-up without a payment is answered with what may be paid, as accepts.'],
  'wallet.top-up.rails': ['5', 'What may be paid is USDC on Base, chain 8453, or on the mainnet of Solana.'],
  'wallet.top-up.credit': ['4.1', 'A top-up with a signed payment in PAYMENT-SIGNATURE adds credit.'],
  'wallet.top-up.legacy-headers': ['5', 'The payment is taken in X-402-Payment and in X-PAYMENT, too.'],
  'wallet.top-up.least': ['8', 'A top-up is at least 5 USD.'],
  'wallet.charge': ['5', 'What a wallet asks for is deducted from its credit.'],
  'wallet.balance': ['4.1', 'The credit of a wallet can be asked for by its address.'],
  'wallet.balance-remaining': ['4.2', 'An inference answer to a wallet has what remains in X-Balance-Remaining.'],
  'wallet.discovery': ['7', 'A 402 to a stranger has x402Version, resource, accepts and the sign-in extension.'],
  'wallet.insufficient': ['7', 'A 402 to a wallet has the code PAYMENT_REQUIRED.'],
  'wallet.insufficient.help': ['7', 'It says how to top up, with which tokens and chains, and has a new challenge.'],
  'wallet.payment-required': ['7', 'A 402 to a wallet has the requirements in PAYMENT-REQUIRED.'],
} satisfies Readonly<Record<string, readonly [section: string, text: string]>>

const noWallets = 'Callers have API keys; to sign for a wallet, and to pay, is still to come.'

/** Every sentence of the document that no run judges, and why not. */
export const unjudgedClauses: Readonly<Record<string, UnjudgedClause>> = Object.fromEntries([
  ...Object.entries(unobservable).map(([id, [section, text, reason]]) => [id, { section, text, status: 'unobservable', reason }] as const),
  ...Object.entries(later).map(([id, [section, text]]) => [id, { section, text, status: 'later', reason: noWallets }] as const),
])
