-- A worker takes a shard, once for all time.
--
-- KEYS[2]  the hash of the shard
-- ARGV     shard, worker, its public key, what it says of itself, seconds to keep the keys
-- Returns  '' if the shard is taken now; otherwise why it is not

if get('stop') then return 'the run has ended: ' .. get('stop') end
if redis.call('HSETNX', KEYS[2], 'worker', ARGV[2]) == 0 then
  return 'it belongs to ' .. redis.call('HGET', KEYS[2], 'worker')
end
redis.call('HSET', KEYS[2], 'publicKey', ARGV[3], 'about', ARGV[4])
redis.call('ZADD', beats, now, ARGV[1])
for _, key in ipairs({KEYS[2], beats}) do redis.call('EXPIRE', key, ARGV[5]) end
return ''
