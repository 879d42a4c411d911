-- What live views show of all shards.
--
-- Returns  for each shard, in order: {'waiting' | 'working' | 'finished' | 'lost', worker or '', snapshot or ''}

local all = {}
for index = 0, shards - 1 do
  local key = run .. ':' .. index
  local shard = redis.call('HMGET', key, 'worker', 'snapshot')
  local beat = redis.call('ZSCORE', beats, index)
  local state = 'lost'
  if not shard[1] then state = 'waiting'
  elseif redis.call('HEXISTS', key, 'result') == 1 then state = 'finished'
  elseif beat and now - tonumber(beat) <= silence then state = 'working' end
  all[index + 1] = {state, shard[1] or '', shard[2] or ''}
end
return all
