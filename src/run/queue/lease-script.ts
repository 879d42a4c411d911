/** How a shard takes its part of the budget of a run, as a script in Redis: what it gets, and what it sends. */

/** Amounts are in pico-USD, counted in whole thousands. The first two are those of the run. */
export type LeaseRequest = {
  /** The budget. */
  readonly limit: bigint
  /** The maximum cost of its most expensive arrival. */
  readonly least: bigint
  /** What this shard has given back so far, in sum. */
  readonly givenBack: bigint
  /** What an arrival of this shard lacks now; 0: nothing. */
  readonly lacking: bigint
  /** Whether to take a part in advance, if there is enough for all. */
  readonly isSpare: boolean
  /** The last ask of another shard after which this one gave back what it did not use; null: it takes no more. */
  readonly answered: number | null
}

export type LeaseReply = {
  /** What this shard has got so far, in sum. */
  readonly granted: bigint
  /** How often a shard has asked the others to give back; the number of the last ask. */
  readonly asks: number
  /** Whether another shard has asked before this one, and still lacks something. */
  readonly isOlderAsk: boolean
  /** Whether all others have given back what they did not use, and it is not enough. */
  readonly isFinal: boolean
}

/**
 * Follows the prelude of `run-state.ts`, which declares `run` and `get`. KEYS[1] is the hash of the run, whose field
 * `leased` it changes, with that of its leases beside it. The fields of that hash are sums and numbers by shard: g = granted,
 * b = given back, a = the last ask that the shard answered, w = its own ask (0: none); and `asks`, the number of the last
 * one. Sums only grow, so that a request that is sent again changes nothing. Once a shard had to ask, none takes a part in
 * advance. ARGV: the shard, the fields of `LeaseRequest`, and seconds to keep the hash. Returns those of `LeaseReply`.
 */
export const leaseScript = `
  local leases, shard = run .. ':leases', ARGV[1]
  local limit, least, givenBack, lacking, isSpare, answered =
    tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1', ARGV[7]
  local function of(field) return tonumber(redis.call('HGET', leases, field) or '0') end
  local function set(field, value) redis.call('HSET', leases, field, string.format('%.0f', value)) end
  local shards = tonumber(get('shards'))
  local leased = tonumber(get('leased') or '0') - math.max(0, givenBack - of('b' .. shard))
  set('b' .. shard, math.max(givenBack, of('b' .. shard)))
  redis.call('HSET', leases, 'a' .. shard, answered)
  local asks, own, older = of('asks'), of('w' .. shard), 0
  for other = 0, shards - 1 do
    local ask = of('w' .. other)
    if tostring(other) ~= shard and ask > 0 and (own == 0 or ask < own) then older = 1 end
  end
  local left, part, final = limit - leased, 0, 0
  local share = math.floor(left / (2 * shards))
  if lacking > 0 and older == 0 and left >= lacking then
    part = asks > 0 and lacking or math.min(left, math.max(lacking, share))
  elseif isSpare and asks == 0 and left > 0 then
    part = math.min(left, math.max(least, share))
  end
  if lacking == 0 or part >= lacking then
    if own > 0 then set('w' .. shard, 0) end
  elseif own == 0 then
    asks = asks + 1
    set('asks', asks)
    set('w' .. shard, asks)
  elseif older == 0 then
    final = 1
    for other = 0, shards - 1 do
      local heard = redis.call('HGET', leases, 'a' .. other)
      if tostring(other) ~= shard and heard ~= 'over' and tonumber(heard or '0') < own then final = 0 end
    end
  end
  set('g' .. shard, of('g' .. shard) + part)
  redis.call('HSET', run, 'leased', string.format('%.0f', leased + part))
  redis.call('EXPIRE', leases, ARGV[8])
  return {redis.call('HGET', leases, 'g' .. shard), tostring(asks), tostring(older), tostring(final)}
`

/** The numbers of Lua are exact up to 2^53, which would be 9,000 USD in pico-USD. */
export const leaseUnit = 1_000n
const wholeUnits = (amount: bigint): bigint => (amount + leaseUnit - 1n) / leaseUnit

export function leaseArguments(
  shard: number,
  { limit, least, givenBack, lacking, isSpare, answered }: LeaseRequest,
): readonly (string | number)[] {
  const sums = [limit / leaseUnit, least / leaseUnit + 1n, givenBack / leaseUnit, wholeUnits(lacking)].map(String)
  return [shard, ...sums, isSpare ? 1 : 0, answered ?? 'over']
}

/** Nothing is granted if Redis no longer knows the run. */
export function leaseReplyOf(value: unknown): LeaseReply {
  const [granted = '0', asks = '0', older, final] = Array.isArray(value) ? value.map(String) : []
  // A run that is unknown answers -1.
  const sum = granted.startsWith('-') ? 0n : BigInt(granted)
  return { granted: sum * leaseUnit, asks: Number(asks), isOlderAsk: older === '1', isFinal: final === '1' }
}
