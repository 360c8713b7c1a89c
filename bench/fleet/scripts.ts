/** Scripts that do as much as those by which a fleet keeps its order: they are measured, and order nothing. */

/**
 * The gate: for each call its tenant's last tag is read, moved on and written again, and its place answered.
 * KEYS: the virtual time, the tenants' last tags. ARGV: tenant, priority and cost of each call.
 */
export const GATE_SCRIPT = `
local now = tonumber(redis.call("GET", KEYS[1]) or "0")
redis.call("ZREMRANGEBYSCORE", KEYS[2], "-inf", now)
local places = {}
for nth = 1, #ARGV, 3 do
  local last = tonumber(redis.call("ZSCORE", KEYS[2], ARGV[nth]) or "0")
  local tag = math.max(now, last)
  redis.call("ZADD", KEYS[2], tag + tonumber(ARGV[nth + 2]), ARGV[nth])
  places[#places + 1] = math.floor(tag - 64 * tonumber(ARGV[nth + 1]))
end
redis.call("PEXPIRE", KEYS[1], 3600000)
redis.call("PEXPIRE", KEYS[2], 3600000)
return places
`;

/** What a machine says of a job that it took. KEYS: the virtual time. ARGV: the job's tag. */
export const NOTE_SCRIPT = `
local now = tonumber(redis.call("GET", KEYS[1]) or "0")
local tag = tonumber(ARGV[1])
if tag > now then redis.call("SET", KEYS[1], ARGV[1], "PX", 3600000) end
return 1
`;
