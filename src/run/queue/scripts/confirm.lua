-- A shard knows when the load starts.
--
-- ARGV     shard, seconds to keep the key
-- Returns  ''

redis.call('SADD', confirmed, ARGV[1])
redis.call('EXPIRE', confirmed, ARGV[2])
return ''
