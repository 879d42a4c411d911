-- Reads the state of the run, and ends it if a worker is silent for too long.
--
-- Returns  the signal, see prelude.lua

check()
return signal()
