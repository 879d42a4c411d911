import type { ChatOption, Contract, Network, Resource } from './contract.ts'
import { rpcMethods } from './rpc-methods.ts'
import { documentedWallets } from './wallets.ts'

const flag: ChatOption = { values: 'boolean', default: false, conditional: false }

/**
 * The service as its interface document describes it. Comments mark values that the document leaves open: these are
 * defaults from public sources, and a profile replaces them.
 */
export const documentedContract: Contract = {
  name: 'documented',
  headerPrefix: 'x-service-',
  paths: {
    chat: '/chat/completions',
    rpc: '/crypto/rpc/{network}', // public
    networks: '/crypto/rpc/networks',
    models: '/models',
    rateLimits: '/api_keys/rate_limits',
    rateLimitLogs: '/api_keys/rate_limit_logs',
  },
  promises: { only: null, except: [] },
  auth: { required: true, noKey: [401, 402], header: 'authorization', scheme: 'Bearer' },
  requestHeaders: {},
  requestQuery: {},
  accounts: {
    default: {
      XS: { requestsPerMinute: 500, tokensPerMinute: 1_000_000 },
      S: { requestsPerMinute: 75, tokensPerMinute: 750_000 },
      M: { requestsPerMinute: 50, tokensPerMinute: 750_000 },
      L: { requestsPerMinute: 20, tokensPerMinute: 500_000 },
    },
    partner: {
      XS: { requestsPerMinute: 500, tokensPerMinute: 2_000_000 },
      S: { requestsPerMinute: 150, tokensPerMinute: 1_500_000 },
      M: { requestsPerMinute: 100, tokensPerMinute: 1_500_000 },
      L: { requestsPerMinute: 60, tokensPerMinute: 1_000_000 },
    },
  },
  // The document does not assign models to tiers or list token prices. These are the models of the reference service.
  models: [
    model('ref-nano-3b', 'Reference Nano 3B', 'XS', 4_096, ['0.15', '0.60', '0.03', '0.20'], true),
    model('ref-small-24b', 'Reference Small 24B', 'S', 8_192, ['0.50', '2.00', '0.10', '0.60']),
    {
      ...model('ref-small-pro-24b', 'Reference Small Pro 24B', 'S', 8_192, ['0.60', '2.40', '0.12', '0.75']),
      payingOnly: true,
    },
    model('ref-medium-70b', 'Reference Medium 70B', 'M', 8_192, ['0.70', '2.80', '0.14', '0.90']),
    model('ref-large-235b', 'Reference Large 235B', 'L', 16_384, ['0.90', '4.50', '0.18', '1.20']),
    // The last entry, so that it is never the default model.
    {
      ...model('ref-nano-1b', 'Reference Nano 1B', 'XS', 2_048, ['0.10', '0.40', '0.02', '0.13']),
      lifecycle: 'deprecated',
    },
  ],
  // The document names these without a payload. Paths and fields are from public sources, and the models are those of
  // the reference service. Each price is an estimate of the maximum cost of such a small request.
  resources: {
    embeddings: post('/embeddings', { model: 'ref-embed', input: 'hello' }, { draws: 'embedding', worstUsd: '0.001' }),
    image: post(
      '/image/generate',
      { model: 'ref-image', prompt: 'a grey square' },
      { draws: 'image', worstUsd: '0.25' },
    ),
    speech: post('/audio/speech', { model: 'ref-speech', input: 'hello' }, { draws: 'audio', worstUsd: '0.01' }),
    'video-queue': post(
      '/video/queue',
      { model: 'ref-video', prompt: 'a grey square', duration: '5s' },
      { draws: 'video-queue', worstUsd: '5' },
    ),
    'video-retrieve': post(
      '/video/retrieve',
      { model: 'ref-video', queue_id: '00000000-0000-4000-8000-000000000000' },
      { draws: 'video-retrieve', isInference: false, worstUsd: '0' },
    ),
    characters: get('/characters', true),
    'billing-balance': get('/billing/balance', false),
    'billing-usage': get('/billing/usage-history', true),
  },
  resourceLimits: {
    default: { image: 20, audio: 60, embedding: 500, 'video-queue': 40, 'video-retrieve': 120 },
    partner: { image: 60, audio: 120, embedding: 500, 'video-queue': null, 'video-retrieve': null },
  },
  pagination: { pageParameter: 'page', limitParameter: 'limit' }, // public
  requestTimestampHeader: 'x-service-request-timestamp-ms', // open: the name under which it is echoed
  chat: {
    systemPromptOption: 'include_venice_system_prompt',
    parametersField: 'service_parameters',
    options: {
      character_slug: { values: 'string', default: null, conditional: true }, // the character may not exist
      strip_thinking_response: flag,
      disable_thinking: flag,
      enable_web_search: { values: ['off', 'on', 'auto'], default: 'off', conditional: false },
      enable_web_scraping: flag,
      enable_x_search: { ...flag, conditional: true },
      enable_web_citations: flag,
      include_search_results_in_stream: flag,
      return_search_results_as_documents: flag,
      enable_e2ee: { values: 'boolean', default: null, conditional: true },
    },
    finishReasons: ['stop', 'length', 'tool_calls'],
    lengthField: 'max_completion_tokens',
    logprobsKey: 'required',
    choiceIndex: 'optional',
    lengthIsBound: true,
    search: {
      citation: '\\[REF\\]([0-9]+)\\[/REF\\]',
      citationForm: '[REF]{source}[/REF]',
      firstSource: 0,
      citationMark: '\\[/?REF\\]',
      resultsInStream: 'first',
      documentsTool: 'service_web_search_documents',
      scrapedPages: 5,
      usdPerLookup: '0.01', // public
    },
    costTolerance: 0.000001,
    atOnce: null,
    wrongMediaTypeStatus: 415,
    unknownMembers: 'tolerated',
    compression: 'required',
    stream: { chunkObject: 'chat.completion.chunk', doneMarker: '[DONE]', asksForUsage: true }, // public
  },
  rpc: {
    requestsPerMinute: 100, // public
    batchLimit: 100,
    headLag: 0,
    reorgDepth: null, // open
    namesEveryMethod: true,
    unknownNetworkStatus: 400, // public
    invalidRequestStatus: 400, // as for any other invalid parameter
    errorLayout: 'json-rpc', // public
    limitCode: null, // a 429 alone
    networks: {
      ...family('ethereum', ['mainnet', 'sepolia', 'holesky']),
      ...family('base', ['mainnet', 'sepolia']),
      ...family('arbitrum', ['mainnet', 'sepolia']),
      ...family('optimism', ['mainnet', 'sepolia']),
      ...family('polygon', ['mainnet', 'amoy']),
      ...family('linea', ['mainnet', 'sepolia']),
      ...family('avalanche', ['mainnet', 'fuji']),
      ...family('bsc', ['mainnet', 'testnet']),
      ...family('blast', ['mainnet', 'sepolia']),
      ...family('starknet', ['mainnet', 'sepolia'], { baseCredits: 20, family: 'starknet' }),
      ...family('zksync', ['mainnet', 'sepolia'], { baseCredits: 30, family: 'evm' }),
      ...family('solana', ['mainnet', 'devnet'], { baseCredits: 30, family: 'solana' }),
    },
    multipliers: { standard: 1, advanced: 2, large: 4 },
    methods: rpcMethods,
    errorItemCredits: 5,
    singleErrorIsDiscounted: null, // the document covers batches only
    oneAtATime: null,
    usdPerCredit: '0.000000625',
    priceTolerance: 0.005, // "about"
    costDecimals: 8, // public
  },
  idempotency: {
    ttlMs: 24 * 60 * 60 * 1000,
    keyPattern: '^[A-Za-z0-9_-]{1,255}$',
    badKey: 'rejected', // as for any other invalid parameter
    concurrent: null, // open
    calls: ['rpc'],
    header: 'idempotency-key',
    replayHeader: 'idempotent-replayed',
    replayValue: 'true',
    replayStatus: null,
    conflict: [400],
    inProgress: [], // open
    errors: null, // open
  },
  limits: {
    windowMs: 60_000,
    algorithm: null,
    scope: null, // open
    chatScope: null, // open
    rpcScope: null, // open
    resourceScope: null, // open
    requestsReset: 'unix-seconds',
    tokensReset: 'seconds',
    dialect: null,
    headers: {},
    status: 429,
    retryAfter: null, // open
    further: {}, // open
    dateAgeMs: 2_000, // open
    clockToleranceMs: 1_000, // open
    tokenHeaders: true,
    published: {},
    judgedBy: 'documented',
  },
  lists: { layout: null }, // open
  errors: { insufficientBalanceCode: 'INSUFFICIENT_BALANCE', layout: null },
  abuse: {
    failures: 20,
    windowMs: 30_000,
    blockMs: 30_000,
    status: 429, // public
    counts: 'non-success',
    blockedCount: false, // otherwise a block would last longer than 30 s
    scope: 'account',
    opening: 'Too many failed attempts', // public
    saysWait: '\\b{seconds}[ -]?(s\\b|sec)',
    saysRetry: 'retry|again|wait',
  },
  limitLogs: { rows: 50, rpcId: 'endpoint:api/v1/crypto/rpc' }, // public
  sources: {},
  billing: {
    ...{ settleMs: 1_000, balanceResolutionUsd: '0.00000001', balanceHeaders: true, balanceRemaining: 'wallets' },
    balance: { header: null, path: null, pointer: null, counts: 'left', when: 'after', scope: 'account' },
    costHeader: null,
    usdPerRequest: null,
    hangUp: 'open',
    atOnce: 'open',
  },
  wallets: documentedWallets,
}

function model(
  id: string,
  name: string,
  tier: Contract['models'][number]['tier'],
  maxCompletionTokens: number,
  [input, output, cacheInput, cacheWrite]: readonly [string, string, string, string],
  logprobs = false,
): Contract['models'][number] {
  return {
    id,
    name,
    tier,
    payingOnly: false,
    maxCompletionTokens,
    logprobs,
    usdPerMillion: { input, output, cacheInput, cacheWrite },
    lifecycle: 'current',
  }
}

function family(
  chain: string,
  nets: readonly string[],
  network: Network = { baseCredits: 20, family: 'evm' },
): Record<string, Network> {
  return Object.fromEntries(nets.map(net => [`${chain}-${net}`, network]))
}

function post(path: string, body: Resource['body'], more: Partial<Resource>): Resource {
  return {
    method: 'POST',
    path,
    body,
    draws: null,
    isInference: true,
    isPaginated: false,
    isDownload: false,
    worstUsd: null,
    ...more,
  }
}

function get(path: string, isPaginated: boolean): Resource {
  return {
    method: 'GET',
    path,
    body: null,
    draws: null,
    isInference: false,
    isPaginated,
    isDownload: false,
    worstUsd: '0',
  }
}
