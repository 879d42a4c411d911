-- A shard takes a part of the budget of the run, and gives back what it does not use.
--
-- Amounts are whole thousands of pico-USD. Amounts "so far" are sums that only grow, so a request that is sent twice
-- changes nothing. Once a shard had to ask the others to give back, none takes a part in advance.
--
-- KEYS[1]  its field `leased` is the sum of what is granted and not given back
-- ARGV     1 shard
--          2 the budget of the run
--          3 the maximum cost of an arrival
--          4 what this shard has given back so far
--          5 what an arrival of this shard lacks now; 0: nothing
--          6 '1': take a part in advance, if there is enough for all
--          7 the last ask of another shard after which this one gave back what it did not use; 'over': it takes no more
--          8 seconds to keep the key
-- Returns  what this shard has got so far,
--          the number of the last ask,
--          1: another shard has asked before this one and still lacks something,
--          1: all others have given back what they did not use, and it is not enough

local leases = run .. ':leases'
-- Its fields: asks, the number of the last ask; and for each shard: g, granted so far; b, given back so far; a, the last
-- ask that it answered, or 'over'; w, its own ask, or 0.
local shard = ARGV[1]
local limit, least, givenBack, lacking = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local isSpare, answered = ARGV[6] == '1', ARGV[7]

local function of(field) return whole('field ' .. field .. ' of ' .. leases, redis.call('HGET', leases, field) or '0') end
local function set(field, value) redis.call('HSET', leases, field, string.format('%.0f', value)) end

local granted, before = of('g' .. shard), of('b' .. shard)
leased = leased - math.max(0, givenBack - before)
set('b' .. shard, math.max(givenBack, before))
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
    local field = 'a' .. other
    local isOver = redis.call('HGET', leases, field) == 'over'
    if tostring(other) ~= shard and not isOver and of(field) < own then final = 0 end
  end
end

set('g' .. shard, granted + part)
redis.call('HSET', run, 'leased', string.format('%.0f', leased + part))
redis.call('EXPIRE', leases, ARGV[8])
return {redis.call('HGET', leases, 'g' .. shard), tostring(asks), tostring(older), tostring(final)}
