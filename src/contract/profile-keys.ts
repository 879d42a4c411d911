/**
 * Every key of a profile, with one line on its meaning: the comments of `turnpike profile` and the table of
 * docs/profiles.md. `<...>` stands for a key that the profile names.
 */
export const profileKeys: Readonly<Record<string, string>> = {
  name: 'what plans and reports call this reading of the service',
  headerPrefix:
    "prefix of the service's own headers, in lower case: `version`, `model-id`, `model-name`, `balance-usd`, `balance-diem`, `timestamp`, `host-name`, `rpc-credits`, `rpc-cost-usd`",
  'paths.chat': 'all paths follow the base address',
  'paths.rpc':
    '`{network}` stands for the slug; `""` for a node that answers at the base address itself; open in the document',
  'paths.networks': 'the list of networks',
  'paths.models': 'the list of models',
  'paths.rateLimits': "the caller's own limits; balance checks also use this call",
  'promises.only':
    'the clauses that the target promises: ids, patterns such as `rpc.*`, or sections such as `§4.3`; `null` stands for all',
  'promises.except.<index>': 'clauses that it does not promise, although `promises.only` has them',
  'auth.required':
    'whether requests need a key; if `false`, a run without `TURNPIKE_KEYS` sends no credentials, wherever the target is',
  'auth.noKey.<index>':
    'the statuses (401 and 402) that are right for a request without credentials; an empty list: not asserted',
  'paths.rateLimitLogs': 'the log of which requests of the caller hit a limit',
  'limitLogs.rows': 'how many of the latest refusals that log lists; open in the document',
  'limitLogs.rpcId': 'its name for the RPC proxy, where it otherwise names a model; open in the document',
  'chat.systemPromptOption':
    'the option that every chat call sets to false, so that a prompt is as long as planned; `null`: there is none, and a request has options only if the scenario asks for some',
  'chat.parametersField': 'the field of the request that holds the options',
  'chat.options.<option>.values': 'the values of another field of that object: `string`, `boolean`, or a list of texts',
  'chat.options.<option>.default': 'its value if the request does not send it; `null`: not asserted',
  'chat.options.<option>.conditional':
    'whether a model may lack it; such a model may refuse it, and echo another value',
  'chat.finishReasons.<index>': 'how a response can end',
  'chat.lengthField': 'the field of a request with the maximum number of tokens, or `max_tokens`',
  'chat.logprobsKey': 'whether every choice has the key `logprobs`, or `optional`',
  'chat.lengthIsBound': 'whether a response that is cut for its length has exactly as many tokens as allowed',
  'chat.search.citation':
    'a regular expression for a citation in the text; its first group holds the numbers of its sources',
  'chat.search.citationForm': 'how the reference service writes one',
  'chat.search.firstSource': 'the number of the first source',
  'chat.search.citationMark':
    'text that occurs only in citations, so that anywhere else it is part of a malformed one; `null`: no check for malformed citations',
  'chat.search.resultsInStream': 'where a stream holds the requested search results: `first`, `last`, or `anywhere`',
  'chat.search.documentsTool': 'the tool whose call holds the search results; `null`: not asserted',
  'chat.search.scrapedPages': 'the maximum number of pages scraped for one request',
  'chat.search.usdPerLookup':
    'dollars for a search, for a scraped page, and for a result of the third-party search, a decimal in quotes; open in the document; `null`: not known',
  'chat.costTolerance':
    'how far `cost` may be from tokens × list price, as a share of it; one `billing.balanceResolutionUsd` is added',
  'chat.wrongMediaTypeStatus': 'the status of a chat request that is not application/json',
  'chat.unknownMembers':
    'what happens to a chat request with an unknown field: `tolerated`, `refused` with 400, or `null`: open',
  'chat.compression':
    'whether an unstreamed completion must be compressed if the client accepts gzip or br, or `optional`; compressed responses are judged in either case',
  'chat.stream.chunkObject': 'the `object` of each chunk',
  'chat.stream.doneMarker': 'the data of the last event',
  'chat.stream.asksForUsage':
    'whether a streamed request asks for its usage with `stream_options: {"include_usage": true}`; `false` for a target that refuses this field',
  'rpc.requestsPerMinute':
    'the limit of the RPC proxy, for a caller of any tier; a batch is one request; open in the document',
  'rpc.batchLimit':
    'the maximum number of items in a batch: it bounds the batches of a scenario, and a probe sends one more',
  'rpc.namesEveryMethod': 'whether the refusal of a batch names all of its unsupported methods, of any kind',
  'rpc.unknownNetworkStatus': 'the status for a network that is not listed; `null`: open',
  'rpc.invalidRequestStatus': 'the status for an invalid JSON-RPC 2.0 request; `null`: open',
  'rpc.errorLayout': 'whether the error of an item has an integer `code` and a `message`; `null`: open',
  'rpc.multipliers.standard': 'price of a method of the tier standard, in base credits',
  'rpc.multipliers.advanced': 'price of a method of the tier advanced, in base credits',
  'rpc.multipliers.large': 'price of a method of the tier large, in base credits',
  'rpc.errorItemCredits': 'price of a batch item that returned an error',
  'rpc.singleErrorIsDiscounted': 'whether that price also applies to a single call; `null`: open',
  'rpc.oneAtATime.waitMs':
    'for a service that handles the RPC requests of a caller one at a time: how many milliseconds a request waits for earlier ones',
  'rpc.oneAtATime.message':
    'the `customMessage` of the 429 that it then gets, which Turnpike does not count against a limit; `rpc.oneAtATime: null`, as documented: there is no such 429',
  'rpc.usdPerCredit': 'dollars, a decimal in quotes',
  'rpc.priceTolerance':
    'how far a cost may be from credits × price, as a share of it, because the document says "about"; one unit of the last digit is added',
  'rpc.costDecimals': 'decimals of the cost header; open in the document',
  'idempotency.ttlMs':
    'how long the service keeps a response for its key, in milliseconds; later repeats need not be replays',
  'idempotency.keyPattern':
    'the keys that the reference service accepts; the keys of a run match the documented pattern',
  'idempotency.badKey': 'whether a key that does not match is refused with 400, or `ignored`; `null`: open',
  'idempotency.concurrent':
    '`one-charge`: concurrent requests with one key are charged once in total; `best-effort`: they may each be charged, and a response is cached only a moment later; `null`: not asserted',
  'limits.windowMs': 'length of a window, of requests and of tokens, in milliseconds',
  'limits.algorithm':
    '`fixed-window`, `aligned-window`, `sliding-log`, `sliding-counter`, `token-bucket`, or `gcra`; `null`: unknown, so only what every algorithm breaks is judged. Fixed and aligned windows are judged exactly',
  'limits.scope':
    '`account`: all keys of an account share its limits; `null`: open, so each key may have limits of its own',
  'limits.chatScope':
    '`model`: each model has a counter of its own; `tier`: all models of a tier share one; `null`: open, and [a target may do either](decisions/0039-open-scopes-are-read-in-every-way.md)',
  'limits.rpcScope': '`all`: all networks share a counter; `network`: each network has its own; `null`: open',
  'limits.resourceScope':
    '`type`: all resources of a type, such as image, share a counter; `resource`: each has its own; `null`: open',
  'limits.requestsReset': 'unit of `x-ratelimit-reset-requests`, or `unix-milliseconds`',
  'limits.tokensReset': 'unit of `x-ratelimit-reset-tokens`, or `unix-milliseconds`',
  'limits.dateAgeMs': 'how many milliseconds a `Date` may be old, because caches keep it; open in the document',
  'limits.clockToleranceMs':
    'how many milliseconds the clock of the limits may differ from that of `Date`; resets are compared with this tolerance; open in the document',
  'limits.tokenHeaders': 'whether a 200 of a chat call must carry the three token headers',
  'limits.published.<limit>':
    'a limit per minute by its name, such as `chat:<model>` or `chat:<model> tokens`; a run writes those that the target publishes here',
  'limits.judgedBy':
    'what the limits in responses are compared with: `documented`, or `target` for what the target publishes and enforces; a run sets `target`, unless it has `--limits-from documented`',
  'errors.layout':
    '`error`: an error is a text, or an object with a message, as the field `error`; `null`: any object with a text, wherever it is',
  'lists.layout':
    '`public`: the layouts in the table of endpoints, with sorted networks; `null`: a list in another layout is not judged, and the order of lists is open',
  'errors.insufficientBalanceCode': 'the code of a 402 to a caller with a key; `null`: open',
  'abuse.failures': 'more failures than this within a window block the caller',
  'abuse.windowMs': 'length of that window in milliseconds; it slides',
  'abuse.blockMs': 'length of a block in milliseconds',
  'abuse.status':
    'status of the responses during a block, which may also be a 5xx; open in the document. A response with another status is a block too if it says so',
  'abuse.counts': 'what counts as a failure: every response that is no success, or `client-errors-but-429`',
  'abuse.blockedCount': 'whether responses during a block are failures too, which prolongs it; `null`: open',
  'abuse.scope':
    'what failures block: the account, or `model`, everything that shares a model or the RPC proxy with them; `null`: open, and only the message is judged',
  'abuse.opening':
    'words that only a block has; open in the document. A response that matches both patterns below is a block too, unless it has a type of limit',
  'abuse.saysWait': 'what the message must match, in any case; `{seconds}` is the length of the block',
  'abuse.saysRetry': 'the same, in addition',
  'billing.settleMs': 'after this many milliseconds, every charge is in the balance',
  'billing.balanceResolutionUsd': 'the smallest difference that a balance shows, a decimal in quotes',
  'billing.balanceHeaders': 'whether every authenticated response carries both balances',
  'billing.balanceRemaining': 'who may get `X-Balance-Remaining`: `wallets` alone, or `anyone`',
  'wallets.signIn.header': 'the header with the sign-in of a wallet, base64 JSON',
  'wallets.signIn.legacyHeader': 'its old name, which is also accepted; `null`: there is none',
  'wallets.signIn.layouts.<index>':
    'what that JSON has: `message`, the signed text with `address`, `signature`, `timestamp` and `chainId`; or `fields`, the fields of the text one by one, as in the x402 extension. Callers send the first of the list, and one time in eight the second; the reference service accepts all; open in the document',
  'wallets.signIn.domains.<index>':
    'the domains for which a wallet may sign in; callers name the first. An empty list: the host and port of the base address; open in the document',
  'wallets.signIn.statement': 'the sentence in the signed text; any text is accepted; open in the document',
  'wallets.signIn.validityMs': 'how long a sign-in is valid, from its time of issue; open in the document',
  'wallets.signIn.nonceMemoryMs': 'how long a used nonce is refused; open in the document',
  'wallets.signIn.futureSkewMs': 'how far in the future a sign-in may be issued; open in the document',
  'wallets.signIn.timestampSkewMs': 'how far the field `timestamp` may be from the time of issue; open in the document',
  'wallets.signIn.shortestNonce': 'the minimum length of a nonce; open in the document',
  'wallets.signIn.refusals.<reason>.status':
    'the status of a refused sign-in: `payload` (no JSON of a known layout), `message` (no sign-in text), `address` (of another wallet than the text), `chain`, `domain`, `nonce` (missing or short), `timestamp`, `expired`, `future` (issued then), `early` (not valid yet), `signature`, `replayed` (the nonce was used), and `otherWallet` (the balance of another wallet; open in the document)',
  'wallets.signIn.refusals.<reason>.code': 'its `code`; `null`: open',
  'wallets.balancePath': 'the balance of a wallet; `{walletAddress}` stands for its address',
  'wallets.balanceAsker': 'who may ask for it: the wallet `itself`, signed in, or `anyone`; open in the document',
  'wallets.topUp.path': 'where a wallet buys credit',
  'wallets.topUp.paymentHeader': 'the header with a signed payment, base64 JSON',
  'wallets.topUp.legacyPaymentHeaders.<index>': 'its old names, which are also accepted',
  'wallets.topUp.requiredHeader': 'the header of a 402 with the requirements, base64 JSON',
  'wallets.topUp.resultHeader': 'the header with the result of a payment, base64 JSON; open in the document',
  'wallets.topUp.minimumUsd': 'the smallest top-up in dollars, a decimal in quotes',
  'wallets.topUp.maximumUsd': 'the largest; `null`: none; open in the document',
  'wallets.topUp.suggestedUsd': 'what the service suggests to a wallet with too little credit; open in the document',
  'wallets.topUp.maxTimeoutSeconds': 'how long a signed payment is valid; open in the document',
  'wallets.topUp.offerStatus': 'the status of a response that offers ways to pay',
  'wallets.topUp.refusals.<reason>.status':
    'the status of a refused payment: `malformed`, `unverified` (signature, time, payee or funds), `belowMinimum`, `aboveMaximum`, `otherResource` (signed for another one), `replayed` (it was settled before), `inProgress` (it is being settled), `settlementFailed`, `settlementTimeout`, and `unavailable` (payments cannot be checked now); open in the document',
  'wallets.topUp.refusals.<reason>.code': 'its `error`; `null`: open',
  'wallets.rails.<chain>.family': '`evm` or `solana`, for a chain on which USDC is accepted',
  'wallets.rails.<chain>.network': 'its CAIP-2 id, such as `eip155:8453`',
  'wallets.rails.<chain>.asset': 'the contract or the mint of USDC on it',
  'wallets.rails.<chain>.decimals': 'the decimals of the token',
  'wallets.rails.<chain>.tokenName': 'the name of the token in an EVM payment',
  'wallets.rails.<chain>.tokenVersion': 'its version there',
  'wallets.minimumBalanceUsd':
    'the smallest credit with which a wallet may call, in dollars, a decimal in quotes; `null`: what the request costs; open in the document',
  'wallets.insufficientCode': 'the code of a 402 to a wallet with too little credit; `null`: open',
  'accounts.<account tier>.<model tier>.requestsPerMinute': 'limits of one caller and one model',
  'accounts.<account tier>.<model tier>.tokensPerMinute': 'prompt and completion together',
  'models.<index>.id': 'the name that a request uses; `models: []` leaves the models to the target',
  'models.<index>.name': 'the display name',
  'models.<index>.tier': '`XS`, `S`, `M` or `L`; `model-tier` in a scenario selects the first model of that tier',
  'models.<index>.payingOnly': 'whether the model is reserved for paying users; the default is false',
  'models.<index>.maxCompletionTokens': 'the maximum that a scenario may ask for',
  'models.<index>.logprobs': 'whether it returns log probabilities on request; `null`, or left out: not known',
  'models.<index>.lifecycle':
    'whether responses must warn that the model will be retired (`deprecated`), or must not (`current`); `null`: not asserted',
  'models.<index>.usdPerMillion.input': 'dollars for a million tokens of the prompt, a decimal in quotes',
  'models.<index>.usdPerMillion.output': 'the same for the completion; `usdPerMillion: null` if no price is known',
  'models.<index>.usdPerMillion.cacheInput': 'for prompt tokens from a cache; `null`, or left out: not known',
  'models.<index>.usdPerMillion.cacheWrite': 'for tokens written to a cache',
  'resources.<name>.method': '`GET` or `POST`, for a resource that is neither chat nor RPC; scenarios use its name',
  'resources.<name>.path': 'open in the document',
  'resources.<name>.body': 'the smallest valid body, with its model; `null`: none',
  'resources.<name>.draws':
    'the limit that it counts against: `image`, `audio`, `embedding`, `video-queue` or `video-retrieve`; `null`: none of these',
  'resources.<name>.isInference': 'whether its responses name the model used',
  'resources.<name>.isPaginated': 'whether its response is a list in pages, with the headers of one',
  'resources.<name>.isDownload': 'whether its response must have a Content-Disposition',
  'resources.<name>.worstUsd':
    'the maximum cost of a request, a decimal in quotes; `null`: not known, and then a forecast with it has no price',
  'resourceLimits.default.image': 'image requests per minute of one caller of the tier default; `null`: not asserted',
  'resourceLimits.default.audio': 'audio requests per minute of one caller of the tier default',
  'resourceLimits.default.embedding': 'embedding requests per minute of one caller of the tier default',
  'resourceLimits.default.video-queue': 'requests for a new video per minute of one caller of the tier default',
  'resourceLimits.default.video-retrieve': 'requests for a finished video per minute of one caller of the tier default',
  'resourceLimits.partner.image': 'image requests per minute of one caller of the tier partner',
  'resourceLimits.partner.audio': 'audio requests per minute of one caller of the tier partner',
  'resourceLimits.partner.embedding': 'embedding requests per minute of one caller of the tier partner',
  'resourceLimits.partner.video-queue':
    'requests for a new video per minute of one caller of the tier partner; the document has no limit for the video of partners',
  'resourceLimits.partner.video-retrieve': 'requests for a finished video per minute of one caller of the tier partner',
  'pagination.pageParameter': 'the parameter for the page of a list; open in the document',
  'pagination.limitParameter': 'the parameter for the number of items per page',
  requestTimestampHeader:
    'the header in which a client states its own time in milliseconds, which the service returns; open in the document; `null`: none is sent',
  'rpc.networks.<slug>.baseCredits': 'credits of a call in the standard tier',
  'rpc.networks.<slug>.family': '`evm`, `solana` or `starknet`: the set of its methods',
  'rpc.methods.evm.<method>':
    'the tier of a method: `standard`, `advanced` or `large`; the service must answer a missing one with 400',
  'rpc.methods.solana.<method>': 'the same, on Solana',
  'rpc.methods.starknet.<method>': 'the same, on Starknet',
}
