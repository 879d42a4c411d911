-- Decides, once for all shards, whether the load starts: every shard must have confirmed the start.
--
-- Returns  1: it starts; 0: the run has ended

if get('stop') then return 0 end
if get('decided') then return 1 end
local missing = shards - redis.call('SCARD', confirmed)
if missing > 0 then
  stop('worker-lost', missing .. ' of the shards knew of the start too late')
  return 0
end
redis.call('HSET', run, 'decided', 1)
return 1
