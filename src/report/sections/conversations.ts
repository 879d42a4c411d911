import { count, formatDuration, formatRatio, NO_VALUE, plural, threeDigits } from '../../lib/format.ts'
import { type Block, code, right, toned } from '../blocks.ts'
import type { Report } from '../document.ts'

type Conversation = Report['conversations'][number]
type Turn = Conversation['turns'][number]

/** For each conversation its sessions, and what each turn got. */
export function conversationsSection({ conversations }: Report): readonly Block[] {
  if (conversations.length === 0) return []
  return [{ kind: 'heading', id: 'conversations', text: 'Conversations' }, ...conversations.flatMap(blocksOf)]
}

const blocksOf = (conversation: Conversation): readonly Block[] => [
  { kind: 'text', text: [toned('strong', code(conversation.call)), ': ', sessionsText(conversation)], afterGap: true },
  {
    kind: 'table',
    columns: [
      { title: 'turn' },
      right('sent'),
      right('answered'),
      ...(callsTools(conversation) ? [{ ...right('tool calls'), priority: 2 }] : []),
      right('TTFT p50'),
      { ...right('p95'), priority: 2 },
      ...(hasBoth(conversation) ? [right('of hits'), right('of misses')].map(each => ({ ...each, priority: 5 })) : []),
      right('prompt'),
      right('cached'),
      { ...right('of possible'), priority: 1 },
      { ...right('hits'), priority: 3 },
      { ...right('claimed each'), priority: 4 },
    ],
    rows: conversation.turns.map(turn => ({ cells: cellsOf(turn, conversation) })),
  },
]

/** For example `12 sessions, 10 finished, 1 gave up, 1 cut off; $0.0021 each, $0.0036 if nothing were cached`. */
function sessionsText(conversation: Conversation): string {
  const { cache, started, finished, gaveUp, claimedUsd, uncachedUsd } = conversation
  const cut = started - finished - gaveUp
  const others = [...(gaveUp > 0 ? [`${count(gaveUp)} gave up`] : []), ...(cut > 0 ? [`${count(cut)} cut off`] : [])]
  const each = (usd: string) => `$${threeDigits(Number(usd) / Math.max(1, started))}`
  const isCheaper = uncachedUsd !== null && Number(uncachedUsd) > Number(claimedUsd)
  const price = Number(claimedUsd) === 0 ? '' : `; ${each(claimedUsd)} each`
  const uncached = isCheaper && price !== '' ? `, ${each(uncachedUsd)} if nothing were cached` : ''
  const sessions = `${plural(started, cache === 'cold' ? 'cold session' : 'session')}`
  return `${sessions}, ${[`${count(finished)} finished`, ...others].join(', ')}${price}${uncached}${hitText(conversation)}`
}

/** For example `; 80 % of answers are hits, TTFT p50 120 ms with a hit, 310 ms without one`. */
function hitText({ turns, hitTtftMs, missTtftMs }: Conversation): string {
  const counted = turns.reduce((total, turn) => total + turn.counted, 0)
  const hits = turns.reduce((total, turn) => total + turn.hits, 0)
  const times = [
    ...(hitTtftMs.p50 === null ? [] : [`${formatDuration(hitTtftMs.p50)} with a hit`]),
    ...(missTtftMs.p50 === null ? [] : [`${formatDuration(missTtftMs.p50)} without one`]),
  ]
  const share = counted === 0 ? [] : [`${formatRatio(hits / counted)} of answers are hits`]
  const texts = [...share, ...(times.length === 0 ? [] : [`TTFT p50 ${times.join(', ')}`])]
  return texts.length === 0 ? '' : `; ${texts.join(', ')}`
}

const callsTools = ({ turns }: Conversation): boolean => turns.some(({ toolCalls }) => toolCalls > 0)

/** Whether some answers had tokens from a cache, and others had none. */
const hasBoth = ({ hitTtftMs, missTtftMs }: Conversation): boolean => hitTtftMs.p50 !== null && missTtftMs.p50 !== null

function cellsOf(turn: Turn, conversation: Conversation): readonly string[] {
  const { counted, answered } = turn
  const mean = (sum: number) => (counted === 0 ? NO_VALUE : count(Math.round(sum / counted)))
  return [
    `${turn.isBranch ? 'branch ' : ''}${turn.turn}`,
    count(turn.sent),
    count(answered),
    ...(callsTools(conversation) ? [count(turn.toolCalls)] : []),
    formatDuration(turn.ttftMs.p50),
    formatDuration(turn.ttftMs.p95),
    ...(hasBoth(conversation)
      ? [turn.hitTtftMs, turn.missTtftMs].map(times => formatDuration(times?.p50 ?? null))
      : []),
    mean(turn.promptTokens),
    mean(turn.cachedTokens),
    turn.cacheableTokens === 0 ? NO_VALUE : formatRatio(turn.cachedTokens / turn.cacheableTokens),
    counted === 0 ? NO_VALUE : formatRatio(turn.hits / counted),
    answered === 0 || Number(turn.claimedUsd) === 0 ? NO_VALUE : `$${threeDigits(Number(turn.claimedUsd) / answered)}`,
  ]
}
