import { PAUSE_MAX_MS } from "../../kernel/broker/capabilities/pause.ts";

/**
 * Silence of all servers after which Redis counts as unreachable for them: a holder that may have lived meanwhile is
 * not lost.
 */
const SILENT_MS = 5_000;
/** Longer than any call is kept without a change. */
export const EXPIRY_MS = PAUSE_MAX_MS + 10 * 24 * 60 * 60 * 1_000;

/**
 * Keys in Redis, below a prefix. Names of tenants and tools are digests. The sealed parts of a call decide; all other
 * keys are indexes.
 *
 * - `call:ID`: a hash with the version `v` and the ones before it (`past`), the number `n` in the order of first
 *   pauses, the sealed parts `head`, `body` and `run`, and `ix`, JSON of its entries in the sets below.
 * - Sorted sets: `state:STATE` and `of:TENANT:STATE` by number, `wake:TENANT` by the time of the next timer,
 *   `approvals` by the time since which the oldest approval of a call is open, `ready:TENANT` by the time since which a
 *   call is ready, `wakers` and `tenants` by the first of these, `ended` and `kept:TENANT` by the time when an ended
 *   call is removed, `holders` by their last heartbeat.
 * - Sets: `running:HOLDER`, and `made:ID` of the calls that a call has made and that have not ended.
 * - Notifications: `targets`, a hash of JSON by target; `notes:TARGET`, a sorted set of `EVENT ID` by the time when it
 *   is due; `noted:TARGET`, a hash of JSON with its sealed text by the same; and `dropped`, a hash of numbers by
 *   target.
 * - Hashes: `books:TENANT`, `total` with the bytes of all, `script:DIGEST` with its sealed text and its number of
 *   users, and `beat` with the last time when a server was heard, and since when there was no long silence.
 *
 * ARGV begins with the prefix, and the time if it is not that of Redis.
 */
export const SHARED = `
local call, PREFIX = redis.call, ARGV[1]
local function key(kind, name) return PREFIX .. ':' .. kind .. ':' .. name end
local WAKERS, TENANTS = PREFIX .. ':wakers', PREFIX .. ':tenants'
local ENDED, HOLDERS = PREFIX .. ':ended', PREFIX .. ':holders'
local BEAT, TOTAL, SEQ = PREFIX .. ':beat', PREFIX .. ':total', PREFIX .. ':seq'
local APPROVALS = PREFIX .. ':approvals'

local function now_ms()
  if ARGV[2] ~= '' then return tonumber(ARGV[2]) end
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function beat(now)
  local last = tonumber(call('HGET', BEAT, 'last'))
  if not last or now - last > ${SILENT_MS} then call('HSET', BEAT, 'since', now) end
  call('HSET', BEAT, 'last', now)
  call('PEXPIRE', BEAT, ${EXPIRY_MS})
end

local function since_ms() return tonumber(call('HGET', BEAT, 'since')) or 0 end

local function add(set, score, member)
  call('ZADD', set, score, member)
  call('PEXPIRE', set, ${EXPIRY_MS})
end

local function line_up(line, kind, tenant)
  local first = call('ZRANGE', key(kind, tenant), 0, 0, 'WITHSCORES')
  if first[2] then add(line, first[2], tenant) else call('ZREM', line, tenant) end
end
`;
