import { isReadSlowly, type ObservedResponse } from '../../observation/observation.ts'
import { type ChatDescriptor, isChat } from '../../observation/requests/chat.ts'
import { is2xx } from '../../observation/response.ts'
import { addLength, areUsual, noLengths, shownText, type TextLengths, usualRatio } from '../checks/shown-text.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import { getOrAdd } from '../merge.ts'
import type { Audit } from './audit.ts'

type Reporter = ClauseReporter<'slow-readers'>

/** Compares the streams of clients that read slowly with those of others. */
export function createSlowReaderAudit(reporter: Reporter): Audit {
  const texts = new Map<string, Texts>()
  const slow: Endings = { whole: 0, cut: [], openMs: 0 }
  const others: Endings = { whole: 0, cut: [], openMs: 0 }

  return {
    add: observation => {
      const { id, request, outcome, response, headersMs, endMs } = observation
      if (!isChat(request) || !request.stream || headersMs === null || endMs === null) return
      if (response === null || !is2xx(response.status)) return
      const kind = isReadSlowly(observation) ? slow : others
      kind.openMs += Math.max(0, endMs - headersMs)
      if (outcome.kind === 'failed' && cutOff.includes(outcome.reason)) kind.cut.push(id)
      if (outcome.kind !== 'answered') return
      kind.whole++
      const perToken = charactersPerToken(request, response)
      if (perToken === null) return
      const known = getOrAdd(texts, request.model, (): Texts => ({ others: noLengths(), slow: [] }))
      if (kind !== slow) addLength(known.others, perToken)
      else if (known.slow.length < maxKept) known.slow.push({ id, perToken })
    },
    finish: () => {
      for (const known of texts.values()) judgeTexts(known, reporter)
      judgeEndings(slow, others, reporter)
    },
  }
}

/** How streams ended, and for how long they were open in all. `cut`: the requests. */
type Endings = { whole: number; readonly cut: number[]; openMs: number }

/** Characters per token of the streams of a model. */
type Texts = {
  readonly others: TextLengths
  readonly slow: { readonly id: number; readonly perToken: number }[]
}

const maxKept = 1_000
/** A finding cites at most this many requests. */
const maxCited = 8
/** How a stream ends whose connection or body breaks off. */
const cutOff: readonly string[] = ['connection-lost', 'stream-truncated']
/** A shorter text has no usual length of a token. */
const minTokens = 20
/** At most this probability that a network breaks those streams by chance, which breaks each open one as easily. */
const maxChance = 1e-5

/** null: too short, or some of its tokens are no text. */
function charactersPerToken(request: ChatDescriptor, response: ObservedResponse): number | null {
  const shown = shownText(response, request)
  return shown !== null && shown.tokens >= minTokens ? shown.characters / shown.tokens : null
}

function judgeTexts({ others, slow }: Texts, reporter: Reporter): void {
  if (!areUsual(others)) return
  const { count, least } = others
  for (const { id, perToken } of slow) {
    if (perToken * usualRatio >= least) reporter.pass('slow-reader.text')
    else {
      const message = `the text of a client that reads slowly has ${perToken.toFixed(1)} characters per token, expected at least ${least.toFixed(1)}, as in ${count} other streams`
      reporter.fail('slow-reader.text', message, [id])
    }
  }
}

/** A network breaks open streams without regard to their readers, and those of slow readers are open for longer. */
function judgeEndings(slow: Endings, others: Endings, reporter: Reporter): void {
  for (let passed = 0; passed < slow.whole; passed++) reporter.pass('slow-reader.kept')
  const { length: cut } = slow.cut
  if (cut === 0) return
  const share = slow.openMs / Math.max(1, slow.openMs + others.openMs)
  if (others.cut.length > 0 || share ** cut > maxChance) {
    const text = `${cut} streams of slow readers broke off, which a network may do`
    reporter.unjudged('slow-reader.kept', { text, clause: null })
    return
  }
  const message = `${cut} of ${cut + slow.whole} streams broke off while their clients read slowly, expected none, as of ${others.whole} others`
  reporter.fail('slow-reader.kept', message, slow.cut.slice(0, maxCited))
}
