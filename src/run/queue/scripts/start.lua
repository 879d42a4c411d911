-- Sets when the load starts, once, unless the run has ended.
--
-- ARGV     milliseconds from now
-- Returns  ''

if not get('stop') then redis.call('HSETNX', run, 'startMs', now + tonumber(ARGV[1])) end
return ''
