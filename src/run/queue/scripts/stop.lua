-- Ends the run.
--
-- ARGV     reason, why
-- Returns  ''

stop(ARGV[1], ARGV[2])
return ''
