-- A worker is alive. One that counts as lost stays lost, also if a network delivers late what it sent.
--
-- KEYS[2]  the hash of the shard
-- ARGV     shard, worker, its snapshot or ''
-- Returns  the signal, see prelude.lua

check()
if redis.call('HGET', KEYS[2], 'worker') ~= ARGV[2] then
  stop('worker-lost', 'Redis has lost who drives shard ' .. (ARGV[1] + 1))
elseif redis.call('HEXISTS', KEYS[2], 'result') == 0 then
  local beat = redis.call('ZSCORE', beats, ARGV[1])
  if beat and now - tonumber(beat) <= silence then redis.call('ZADD', beats, now, ARGV[1]) end
  if ARGV[3] ~= '' then redis.call('HSET', KEYS[2], 'snapshot', ARGV[3]) end
end
return signal()
