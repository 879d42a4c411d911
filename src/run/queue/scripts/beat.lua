-- A worker is alive.
--
-- KEYS[2]  the hash of the shard
-- ARGV     shard, worker, its snapshot or ''
-- Returns  the signal, see prelude.lua

check()
if redis.call('HGET', KEYS[2], 'worker') ~= ARGV[2] then
  stop('worker-lost', 'Redis has lost who drives shard ' .. (ARGV[1] + 1))
elseif redis.call('HEXISTS', KEYS[2], 'result') == 0 then
  redis.call('ZADD', beats, now, ARGV[1])
  if ARGV[3] ~= '' then redis.call('HSET', KEYS[2], 'snapshot', ARGV[3]) end
end
return signal()
