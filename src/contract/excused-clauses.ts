import type { ExcusedClause } from './clause.ts'
import { laterClauses } from './later-clauses.ts'

/** Every sentence of the document that no run judges, and why not. */
export const excusedClauses = {
  'excused.prompt-cache-routing': {
    section: '2.1',
    says: 'Requests with one prompt_cache_key are routed to the same backend.',
    excuse: 'unobservable',
    because: 'No answer tells which backend gave it, and a cache may miss for other reasons.',
  },
  'excused.system-prompt': {
    section: '2.3',
    says: 'The default system prompts come with a request, and go where they are switched off.',
    excuse: 'unobservable',
    because:
      'A service need not count the tokens of its own prompts, which are not given. That the option is taken and echoed is judged.',
  },
  'excused.reasoning-returned': {
    section: '2.4',
    says: 'reasoning_details and thought_signature are passed back exactly as received.',
    excuse: 'unobservable',
    because: 'That is a duty of the caller, and what becomes of one who neglects it is not given.',
  },
  'excused.prompt-cache-hit': {
    section: '2.2',
    says: 'The system prompt, and what cache_control marks, is cached.',
    excuse: 'unobservable',
    because: 'A cache may miss at any time. What an answer says of it, and what that costs, is judged.',
  },
  'excused.cache-ttl': {
    section: '2.2',
    says: 'The ttl of cache_control makes a cache last longer.',
    excuse: 'unobservable',
    because: 'It takes a header that the document does not name. That its type is looked at is judged.',
  },
  'excused.multimodal': {
    section: '2.2',
    says: 'Images, audio, video and files are taken by models that are compatible.',
    excuse: 'unobservable',
    because: 'Which models are is open, and so is the shape of these parts.',
  },
  'excused.files-as-text': {
    section: '2.2',
    says: 'Files are made text before they reach the model.',
    excuse: 'unobservable',
    because: 'No answer tells what the model was given.',
  },
  'excused.scraping-bypasses-search': {
    section: '2.3',
    says: 'Scraped pages, and the third-party search, bypass the standard web search.',
    excuse: 'unobservable',
    because: 'No answer tells where a source was found, and a page may be found in either way.',
  },
  'excused.scraping-billed-by-success': {
    section: '2.3',
    says: 'Only pages that were scraped successfully are billed.',
    excuse: 'unobservable',
    because: 'The price is open, and no answer tells which pages could not be read.',
  },
  'excused.search-auto': {
    section: '2.3',
    says: 'With the mode auto the model decides whether to search.',
    excuse: 'unobservable',
    because: 'Both decisions are right.',
  },
  'excused.character': {
    section: '2.3',
    says: 'character_slug gives the answer the persona of a public character.',
    excuse: 'unobservable',
    because: 'A persona shows in the wording only. That the option is taken and echoed is judged.',
  },
  'excused.e2ee': {
    section: '2.3',
    says: 'enable_e2ee encrypts from end to end where the model is capable of it.',
    excuse: 'unobservable',
    because: 'Neither the keys nor the form of such content are given, nor which models are capable of it.',
  },
  'excused.thinking-disabled': {
    section: '2.3',
    says: 'disable_thinking has supported models not think at all.',
    excuse: 'unobservable',
    because: 'Which models support it is open. That no think block is left is judged.',
  },
  'excused.diem-of-the-day': {
    section: '1',
    says: 'Staking DIEM yields credits every day, 1 DIEM being worth 1 USD.',
    excuse: 'unobservable',
    because:
      'Staking is no part of the interface, and no run lasts for a day. That a DIEM pays for what a USD pays for is judged.',
  },
  'excused.bundled-credits': {
    section: '2.4',
    says: 'In the USD part of a cost bundled credits count as their worth in USD.',
    excuse: 'unobservable',
    because: 'No answer shows a balance of bundled credits.',
  },
  'excused.rpc-forwarding': {
    section: '4.3',
    says: 'Requests are forwarded to a node of the network, and its response comes back.',
    excuse: 'unobservable',
    because: 'Nobody but the proxy sees the node. The form of what comes back is judged.',
  },
  'excused.replay-upstream': {
    section: '4.3',
    says: 'A replay makes no call to the node.',
    excuse: 'unobservable',
    because: 'Nobody but the proxy sees the node. That a replay is the same byte for byte, and free, is judged.',
  },
  'excused.replay-of-errors': {
    section: '4.3',
    says: 'Responses are cached, whatever they say.',
    excuse: 'unobservable',
    because: 'Whether a refusal is a response in this sense is open; replays of batches with failing items are judged.',
  },
  'excused.invalid-item': {
    section: '4.3',
    says: 'Each item of a batch is validated by itself.',
    excuse: 'unobservable',
    because:
      'What becomes of a batch with an item of a wrong form is not said. Methods that are not supported, and parameters that fail, are judged.',
  },
  'excused.beta-analytics': {
    section: '1',
    says: 'Billing and usage analytics are in beta, and may change without notice.',
    excuse: 'unobservable',
    because: 'It promises nothing. That they are there, and their pages and headers, is judged.',
  },
  'excused.prices-of-media': {
    section: '1',
    says: 'Usage is paid from prepaid credits, that of images, audio, video and embeddings included.',
    excuse: 'unobservable',
    because:
      'No price is given, and no answer tells what it cost. Whether a balance falls at most as far as the profile says is in the ledger.',
  },
  'excused.job-states': {
    section: '3',
    says: 'Audio and video are made by jobs that go on after their answer.',
    excuse: 'unobservable',
    because: 'Their states and transitions are not given. That they are there, and their limits, is judged.',
  },
  'excused.support-id': {
    section: '4.4',
    says: 'CF-RAY is to be logged for support.',
    excuse: 'unobservable',
    because: 'It is advice to the caller, which a run follows: a finding names it.',
  },
  'excused.content-violation': {
    section: '4.4',
    says: 'Whether content violates a rule, is adult or was blurred is in headers, where it does or was.',
    excuse: 'unobservable',
    because: 'A run does not ask for such content. That the headers are true or false is judged.',
  },
  'excused.contains-minor': {
    section: '4.4',
    says: 'The analysis of an image with age detection says whether it shows a minor.',
    excuse: 'unobservable',
    because: 'No endpoint for it is given. Where the header is sent, it must be true or false.',
  },
  'excused.web-client-version': {
    section: '4.4',
    says: 'Requests of the own web client of the service are answered with the version of its middle layer.',
    excuse: 'unobservable',
    because: 'A run is not that client.',
  },
  'excused.mobile-version': {
    section: '4.4',
    says: 'Requests of the mobile app are answered with its version.',
    excuse: 'unobservable',
    because: 'A run is not that app.',
  },
  'excused.auth-refreshed': {
    section: '4.4',
    says: 'A token that was refreshed during the request is said to be.',
    excuse: 'unobservable',
    because: 'An API key is not refreshed. Where the header is sent, it must be true or false.',
  },
  'excused.compatibility': {
    section: '9',
    says: 'Endpoints and parameters of v1 stay compatible.',
    excuse: 'unobservable',
    because: 'It is about the next version of the service; runs of today and of then show it together.',
  },
  ...laterClauses,
} as const satisfies Readonly<Record<string, ExcusedClause>>
