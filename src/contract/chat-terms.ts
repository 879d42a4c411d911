import { z } from 'zod'
import { decimal, pattern, positiveInt } from './quantities.ts'

const chatOption = z.strictObject({
  /** Any text, true or false, or one of a list. */
  values: z.union([z.enum(['string', 'boolean']), z.array(z.string()).min(1)]),
  /** What holds where it is not sent; null: not asserted. */
  default: z.union([z.boolean(), z.string()]).nullable(),
  /** Whether a model may be unable to do it: then neither a refusal nor another value in the echo is held against it. */
  conditional: z.boolean(),
})

/** What is known of chat completions. */
export const chatTerms = z.strictObject({
  /** The member of `service_parameters` that switches the default system prompts off. */
  systemPromptOption: z.string(),
  parametersField: z.string(),
  /** The other members of `service_parameters`. */
  options: z.record(z.string(), chatOption),
  finishReasons: z.array(z.string()).min(1),
  /** Whether an answer is cut for its length at its bound only; false: not asserted. */
  lengthIsBound: z.boolean(),
  search: z.strictObject({
    /** A citation in the text; its first group holds the numbers of the sources. */
    citation: pattern,
    /** As the reference service writes one: `{source}` stands for the number. */
    citationForm: z.string().includes('{source}'),
    /** The number of the first source. */
    firstSource: z.int().min(0),
    /** What stands in citations only, so that elsewhere it is part of a malformed one; null: not asserted. */
    citationMark: pattern.nullable(),
    /** Where a stream has the search results that were asked for in it. */
    resultsInStream: z.enum(['first', 'last', 'anywhere']),
    /** The tool whose call holds the search results; null: not asserted. */
    documentsTool: z.string().nullable(),
    /** The most pages that are scraped for one request. */
    scrapedPages: positiveInt,
    /** Of a search, of a page that is scraped, and of a result of the third-party search; null: not known. */
    usdPerLookup: decimal.nullable(),
  }),
  /** Relative tolerance of `cost` against tokens × list price. */
  costTolerance: z.number().min(0).max(1),
  /** The status of a request that is not application/json. */
  wrongMediaTypeStatus: z.int().min(400).max(499),
  /** What becomes of a request with a member that nobody knows; null: not asserted. */
  unknownMembers: z.enum(['tolerated', 'refused']).nullable(),
  /** Whether an unstreamed completion must be compressed where the client accepts that, or only may be. */
  compression: z.enum(['required', 'optional']),
  stream: z.strictObject({ chunkObject: z.string(), doneMarker: z.string() }),
})
