-- Precedes every script of this folder, which is its continuation. Declares what they share.
--
-- KEYS[1]  the hash of the run: job, shards, silenceMs, deadlineMs; startMs, decided, stop, why, cancelled, finished,
--          leased once they are known. The keys below begin with its name.
-- Returns {-1} if Redis does not know the run.
-- Fails with "DAMAGED <reason>", after ending the run for this reason, if a number in Redis is not one.
--
-- Times are milliseconds on the clock of Redis.

local run = KEYS[1]
local beats = run .. ':beats'         -- sorted set: when the worker of each shard was last heard
local ready = run .. ':ready'         -- set: the shards that are ready for the load
local confirmed = run .. ':confirmed' -- set: the shards that know when the load starts

if redis.call('EXISTS', run) == 0 then return {-1} end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function get(field) return redis.call('HGET', run, field) end

-- The first reason wins, except that a lost worker overrides it.
local function stop(reason, why)
  local earlier = get('stop')
  if not earlier or (reason == 'worker-lost' and earlier ~= 'worker-lost') then
    redis.call('HSET', run, 'stop', reason, 'why', why)
  end
end

-- `text` as a whole number of at most `max`; `place` names where it was read. Numbers of Lua are exact up to 2^53.
local function whole(place, text, max)
  local value = text and string.match(text, '^%d+$') and tonumber(text)
  if value and value <= (max or 2^53) then return value end
  local found = text and '"' .. string.gsub(string.sub(text, 1, 40), '[^%w%p ]', '?') .. '"' or 'nothing'
  local why = 'the state of the run in Redis is damaged: ' .. place .. ' should be a whole number'
    .. (max and ' up to ' .. max or '') .. ', but is ' .. found
  stop('worker-lost', why)
  error('DAMAGED ' .. why)
end

local function wholeField(field, max) return whole('field ' .. field .. ' of ' .. run, get(field), max) end

-- Loops over the shards must end, so a damaged count must not be large. The limit is that of callers.
local shards = wholeField('shards', 10000)
local silence = wholeField('silenceMs')
local deadline = wholeField('deadlineMs')
local start = get('startMs') and wholeField('startMs')
local finished = get('finished') and wholeField('finished') or 0
local leased = get('leased') and wholeField('leased') or 0

-- Ends the run if a worker is silent for too long, or the deadline of the start has passed.
local function check()
  local oldest = redis.call('ZRANGE', beats, 0, 0, 'WITHSCORES')
  if oldest[2] and now - tonumber(oldest[2]) > silence then
    local shard = whole('a member of ' .. beats, oldest[1])
    stop('worker-lost', 'shard ' .. (shard + 1) .. ' was silent for too long')
  elseif not start and now > deadline then
    stop('worker-lost', 'not every shard was ready in time')
  end
end

-- What a worker or a terminal must know: now, start, stop, why, cancelled, finished, silence, shards at work.
local function signal()
  local working = redis.call('ZCOUNT', beats, now - silence, '+inf')
  return {now, start or '', get('stop') or '', get('why') or '', get('cancelled') or '', finished, silence, working}
end
