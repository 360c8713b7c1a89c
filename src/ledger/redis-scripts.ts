import { hash } from "node:crypto";
import { CALL_BYTES, HOLDER_LOST_MS, RESULT_SHARE } from "./ledger.ts";

/** A call that has begun is forgotten after so long, even if nothing was heard of its holder's end. */
const LASTING_MS = 7 * 24 * 60 * 60 * 1_000;
/** Calls that make room for one, and expired ones that one script takes away: Redis does nothing else meanwhile. */
const EVICTED_MAX = 250;
const SWEPT_MAX = 50;

/** What runs in Redis in one go, and what it is known by there. */
export interface RedisScript {
  readonly lua: string;
  readonly sha: string;
}

/**
 * What is in Redis, below a prefix:
 *
 * - `call:DIGEST`, a hash. It has a `holder` until it has ended, and then perhaps a `result`.
 * - `holders`: when each process that holds calls was last seen. What stands before the colon of a call's holder is one.
 * - `expiring`: the marks of all calls, by the time from which they are no longer known. A mark is
 *   `DIGEST:NUMBER:TENANT:BYTES`, without tenant and bytes until the call has ended: it says what to take from the books, even
 *   where the call itself has expired.
 * - The books of what has ended: `books` has the sums, `calls` and `bytes` those of each tenant, and `tenant:TENANT` the marks
 *   of its calls, in the order in which they ended.
 */
const SHARED = `
local HOLDERS, EXPIRING, BOOKS, CALLS, BYTES, CALL = unpack(KEYS)
local PREFIX, now = ARGV[1], tonumber(ARGV[2])
if now == nil then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local function owner_of(holder)
  return string.match(holder, '^[^:]*')
end

-- A clock that was set back says nothing of who is there.
local function is_there(holder)
  local seen = redis.call('ZSCORE', HOLDERS, owner_of(holder))
  return seen and math.abs(now - seen) <= ${HOLDER_LOST_MS}
end

local function call_of(mark)
  return PREFIX .. ':call:' .. string.match(mark, '^%x+')
end

local function next_mark(tenant, bytes)
  local number = redis.call('HINCRBY', BOOKS, 'number', 1)
  return string.match(CALL, '%x+$') .. ':' .. number .. ':' .. tenant .. ':' .. bytes, number
end

local function forget(mark)
  local tenant, bytes = string.match(mark, '^%x+:%d+:(%x*):(%d+)$')
  if redis.call('HGET', call_of(mark), 'mark') == mark then redis.call('UNLINK', call_of(mark)) end
  if tenant ~= '' then redis.call('ZREM', PREFIX .. ':tenant:' .. tenant, mark) end
  if redis.call('ZREM', EXPIRING, mark) == 0 or tenant == '' then return end
  if tonumber(redis.call('ZINCRBY', CALLS, -1, tenant)) <= 0 then
    redis.call('ZREM', CALLS, tenant)
    redis.call('ZREM', BYTES, tenant)
  else
    redis.call('ZINCRBY', BYTES, -bytes, tenant)
  end
  redis.call('HINCRBY', BOOKS, 'calls', -1)
  redis.call('HINCRBY', BOOKS, 'bytes', -bytes)
end

-- What runs beyond its time is looked at again later, so that it is not in the way of the rest.
local function sweep()
  for _, mark in ipairs(redis.call('ZRANGEBYSCORE', EXPIRING, '-inf', now, 'LIMIT', 0, ${SWEPT_MAX})) do
    local known = redis.call('HMGET', call_of(mark), 'mark', 'holder')
    if known[1] == mark and known[2] and is_there(known[2]) then
      redis.call('ZADD', EXPIRING, now + ${HOLDER_LOST_MS}, mark)
    else
      forget(mark)
    end
  end
end

-- The books outlive whatever is in them.
local function keep_books(ttl)
  for _, key in ipairs({ HOLDERS, EXPIRING, BOOKS, CALLS, BYTES }) do
    redis.call('PEXPIRE', key, ttl + ${LASTING_MS})
  end
end
`;

/** ARGV: asked, holder, may_repeat, tenant, ttl, max_calls, max_bytes. */
const CLAIM = `
local asked, holder, may_repeat, tenant, ttl, max_calls, max_bytes = unpack(ARGV, 3)
local known = redis.call('HMGET', CALL, 'asked', 'holder', 'may_repeat', 'expires', 'mark')
if known[1] then
  -- What was sent before a connection was lost is sent again over the next one.
  if known[2] == holder then return { 'mine' } end
  local has_ended = not known[2]
  -- The holder itself asks for what it runs only if it could not say how that ended.
  local is_running = not has_ended and owner_of(known[2]) ~= owner_of(holder) and is_there(known[2])
  if is_running or now < tonumber(known[4]) then
    if known[1] ~= asked then return { 'conflict' } end
    if is_running then return { 'running' } end
    local result = has_ended and redis.call('HGET', CALL, 'result')
    if result then return { 'kept', result } end
    if has_ended then return { 'ended' } end
    if known[3] ~= '1' then return { 'lost' } end
  end
  forget(known[5])
  redis.call('UNLINK', CALL)
end
sweep()
local mark, expires = next_mark('', 0), now + ttl
redis.call('ZADD', HOLDERS, now, owner_of(holder))
redis.call('HSET', CALL, 'asked', asked, 'holder', holder, 'may_repeat', may_repeat, 'expires', expires, 'mark', mark,
  'tenant', tenant, 'ttl', ttl, 'max_calls', max_calls, 'max_bytes', max_bytes)
redis.call('PEXPIRE', CALL, ttl + ${LASTING_MS})
redis.call('ZADD', EXPIRING, expires, mark)
keep_books(ttl)
return { 'mine' }
`;

/** ARGV: holder, the length of the result before it was sealed, and the result, or nothing. Answers whether it was the holder's. */
const SETTLE = `
local holder, length, result = ARGV[3], tonumber(ARGV[4]), ARGV[5]
local known = redis.call('HMGET', CALL, 'holder', 'mark', 'tenant', 'ttl', 'max_calls', 'max_bytes')
if known[1] ~= holder then return 0 end
local tenant, ttl, max_calls, max_bytes = known[3], tonumber(known[4]), tonumber(known[5]), tonumber(known[6])

local function weight_of(one)
  return math.max((redis.call('ZSCORE', CALLS, one) or 0) / max_calls, (redis.call('ZSCORE', BYTES, one) or 0) / max_bytes)
end

-- Whose calls take most of the room makes room: no tenant can have another one's calls run twice.
local function oldest_of_heaviest()
  local a, b = redis.call('ZREVRANGE', CALLS, 0, 0)[1], redis.call('ZREVRANGE', BYTES, 0, 0)[1]
  if not a or not b then return nil end
  local heaviest = weight_of(a) >= weight_of(b) and a or b
  return redis.call('ZRANGE', PREFIX .. ':tenant:' .. heaviest, 0, 0)[1]
end

local function make_room(bytes)
  for evicted = 0, ${EVICTED_MAX} do
    local sums = redis.call('HMGET', BOOKS, 'calls', 'bytes')
    if tonumber(sums[1] or 0) < max_calls and (sums[2] or 0) + bytes <= max_bytes then return true end
    local oldest = evicted < ${EVICTED_MAX} and oldest_of_heaviest()
    if not oldest then return false end
    forget(oldest)
  end
end

sweep()
local fits = result ~= '' and length <= max_bytes * ${RESULT_SHARE}
local is_kept = make_room(${CALL_BYTES} + (fits and #result or 0)) and fits
local bytes, expires = ${CALL_BYTES} + (is_kept and #result or 0), now + ttl
redis.call('ZREM', EXPIRING, known[2])
local mark, number = next_mark(tenant, bytes)
redis.call('HDEL', CALL, 'holder', 'may_repeat', 'tenant', 'ttl', 'max_calls', 'max_bytes')
redis.call('HSET', CALL, 'expires', expires, 'mark', mark)
if is_kept then redis.call('HSET', CALL, 'result', result) end
redis.call('PEXPIRE', CALL, ttl)
redis.call('ZADD', EXPIRING, expires, mark)
redis.call('ZADD', PREFIX .. ':tenant:' .. tenant, number, mark)
redis.call('PEXPIRE', PREFIX .. ':tenant:' .. tenant, ttl + ${LASTING_MS})
redis.call('ZINCRBY', CALLS, 1, tenant)
redis.call('ZINCRBY', BYTES, bytes, tenant)
redis.call('HINCRBY', BOOKS, 'calls', 1)
redis.call('HINCRBY', BOOKS, 'bytes', bytes)
keep_books(ttl)
return 1
`;

/** ARGV: holder. */
const RELEASE = `
local known = redis.call('HMGET', CALL, 'holder', 'mark')
if known[1] ~= ARGV[3] then return 0 end
forget(known[2])
redis.call('UNLINK', CALL)
return 1
`;

/** ARGV: the holder's process, and whether it is there or leaves. */
const SEE = `
if ARGV[4] == 'leaves' then
  redis.call('ZREM', HOLDERS, ARGV[3])
  return 1
end
redis.call('ZREMRANGEBYSCORE', HOLDERS, '-inf', '(' .. now - ${HOLDER_LOST_MS})
redis.call('ZADD', HOLDERS, now, ARGV[3])
redis.call('PEXPIRE', HOLDERS, ${LASTING_MS})
sweep()
return 1
`;

export const LEDGER_SCRIPTS = {
  claim: scriptOf(CLAIM),
  settle: scriptOf(SETTLE),
  release: scriptOf(RELEASE),
  see: scriptOf(SEE),
} as const;

function scriptOf(body: string): RedisScript {
  const lua = SHARED + body;
  return { lua, sha: hash("sha1", lua) };
}
