import { z } from 'zod'
import { ownMember } from '../lib/json.ts'
import { amountText, keyed, milliseconds, open, perMinute, positiveInt } from './fields.ts'

/** The price tiers of RPC methods. */
const methodTiers = ['standard', 'advanced', 'large'] as const
export type MethodTier = (typeof methodTiers)[number]

export const networkFamilies = ['evm', 'solana', 'starknet'] as const

const network = z.strictObject({
  /** null: unknown, so no amount is asserted. */
  baseCredits: positiveInt.nullable().describe('credits of a call in the standard tier'),
  family: z.enum(networkFamilies).describe('`evm`, `solana` or `starknet`: the set of its methods'),
})
export type Network = z.infer<typeof network>

/** The contract of the JSON-RPC proxy. */
export const rpcTerms = z.strictObject({
  requestsPerMinute: perMinute.meta(
    open('the limit of the RPC proxy, for a caller of any tier; a batch is one request; open in the document'),
  ),
  batchLimit: positiveInt.describe(
    'the maximum number of items in a batch: it bounds the batches of a scenario, and a probe sends one more',
  ),
  headLag: z
    .int()
    .nonnegative()
    .describe('by how many blocks the head of a network may go back, since the nodes behind one address lag'),
  reorgDepth: z
    .int()
    .nonnegative()
    .nullable()
    .meta(open('how many of the last blocks a reorganization may replace; deeper ones keep their hash; `null`: open')),
  namesEveryMethod: z
    .boolean()
    .describe('whether the refusal of a batch names all of its unsupported methods, of any kind'),
  unknownNetworkStatus: positiveInt
    .nullable()
    .meta(open('the status for a network that is not listed, where 400 allows 404, too; `null`: open')),
  invalidRequestStatus: positiveInt.nullable().describe('the status for an invalid JSON-RPC 2.0 request; `null`: open'),
  errorLayout: z
    .enum(['json-rpc'])
    .nullable()
    .meta(open('whether the error of an item has an integer `code` and a `message`; `null`: open')),
  limitCode: z
    .int()
    .nullable()
    .meta(
      open(
        'the code of the JSON-RPC error that refuses a request above a limit with status 200, such as `-32005`; `null`: a 429 alone does',
      ),
    ),
  networks: z.record(z.string(), network).meta({ ...keyed('slug'), isOpen: true }),
  multipliers: z.strictObject({
    standard: positiveInt.describe('price of a method of the tier standard, in base credits'),
    advanced: positiveInt.describe('price of a method of the tier advanced, in base credits'),
    large: positiveInt.describe('price of a method of the tier large, in base credits'),
  }),
  methods: z
    .strictObject({
      evm: z
        .record(
          z.string(),
          z
            .enum(methodTiers)
            .describe(
              'the tier of a method: `standard`, `advanced` or `large`; the service must answer a missing one with 400',
            ),
        )
        .meta(keyed('method')),
      solana: z.record(z.string(), z.enum(methodTiers).describe('the same, on Solana')).meta(keyed('method')),
      starknet: z.record(z.string(), z.enum(methodTiers).describe('the same, on Starknet')).meta(keyed('method')),
    })
    .meta({ isOpen: true }),
  errorItemCredits: z.int().nonnegative().describe('price of a batch item that returned an error'),
  singleErrorIsDiscounted: z
    .boolean()
    .nullable()
    .meta(open('whether that price also applies to a single call; `null`: open')),
  oneAtATime: z
    .strictObject({
      waitMs: milliseconds.describe(
        'for a service that handles the RPC requests of a caller one at a time: how many milliseconds a request waits for earlier ones',
      ),
      message: z
        .string()
        .min(1)
        .describe(
          'the `customMessage` of the 429 that it then gets, which Turnpike does not count against a limit; `rpc.oneAtATime: null`, as documented: there is no such 429',
        ),
    })
    .nullable()
    .meta({ isOpen: true }),
  usdPerCredit: amountText.describe('dollars, a decimal in quotes'),
  priceTolerance: z
    .number()
    .min(0)
    .max(1)
    .meta(
      open(
        'how far a cost may be from credits × price, as a share of it, because the document says "about"; one unit of the last digit is added',
      ),
    ),
  costDecimals: z.int().min(0).max(12).meta(open('decimals of the cost header; open in the document')),
})

/** The tier of `method` on `network`; null if the network is unknown or the method is not on its allow-list. */
export function methodTier(
  { rpc }: { readonly rpc: z.infer<typeof rpcTerms> },
  network: string,
  method: string,
): MethodTier | null {
  const { networks, methods } = rpc
  const known = ownMember(networks, network)
  return known && ownMember(methods[known.family], method)
}
