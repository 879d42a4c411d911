-- Ends the run, and the requests in flight.
--
-- Returns  ''

stop('interrupted', 'interrupted')
redis.call('HSET', run, 'cancelled', 1)
return ''
