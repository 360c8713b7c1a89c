import { Script } from "../redis/script.ts";
import { CALL_BYTES, HOLDER_LOST_MS, RESULT_SHARE } from "../../kernel/store/calls/ledger.ts";

/** Time after which a running call is forgotten, even if the end of its holder was not recorded. */
const LASTING_MS = 7 * 24 * 60 * 60 * 1_000;
/** Maximum calls evicted for one, and expired calls removed by one script: Redis serves no other client meanwhile. */
const EVICTED_MAX = 250;
const SWEPT_MAX = 50;

/**
 * Keys in Redis, below a prefix:
 *
 * - `call:DIGEST`, a hash. It has a `holder` while the call runs, and then a `mark` and, if it was kept, a `result`. It
 *   also has a `carrier` if another process continues the call after the holder was lost.
 * - `holders`: last heartbeat of each process that holds or carries calls. A call's holder is `PROCESS:CLAIM`.
 * - `begun` and `ended`: expiry of calls. `begun` has digests, and `ended` has marks: `DIGEST:NUMBER:TENANT:BYTES`
 *   contains the amounts to subtract from the books even if the call itself has expired.
 * - The books of ended calls: `books` has the totals, `calls` and `bytes` those of each tenant, and `tenant:TENANT` the
 *   marks of its calls, in the order in which they ended.
 */
const SHARED = `
local HOLDERS, BEGUN, ENDED, BOOKS, CALLS, BYTES, CALL = unpack(KEYS)
local PREFIX, now = ARGV[1], tonumber(ARGV[2])
local DIGEST = string.match(CALL, '%x*$')
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

-- Says that a process is there.
local function see(owner)
  redis.call('ZREMRANGEBYSCORE', HOLDERS, '-inf', '(' .. now - ${HOLDER_LOST_MS})
  redis.call('ZADD', HOLDERS, now, owner)
  redis.call('PEXPIRE', HOLDERS, ${LASTING_MS})
end

-- Forgets a call that has begun.
local function drop(digest)
  redis.call('UNLINK', PREFIX .. ':call:' .. digest)
  redis.call('ZREM', BEGUN, digest)
end

-- Forgets a call that has ended, and nothing that was begun in its place since.
local function forget(mark)
  local digest, tenant, bytes = string.match(mark, '^(%x+):%d+:(%x+):(%d+)$')
  local call = PREFIX .. ':call:' .. digest
  if redis.call('HGET', call, 'mark') == mark then redis.call('UNLINK', call) end
  redis.call('ZREM', PREFIX .. ':tenant:' .. tenant, mark)
  if redis.call('ZREM', ENDED, mark) == 0 then return end
  if tonumber(redis.call('ZINCRBY', CALLS, -1, tenant)) <= 0 then
    redis.call('ZREM', CALLS, tenant)
    redis.call('ZREM', BYTES, tenant)
  else
    redis.call('ZINCRBY', BYTES, -bytes, tenant)
  end
  redis.call('HINCRBY', BOOKS, 'calls', -1)
  redis.call('HINCRBY', BOOKS, 'bytes', -bytes)
end

local function expired(key)
  return ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, ${SWEPT_MAX}))
end

local function sweep_ended()
  for _, mark in expired(ENDED) do forget(mark) end
end

-- The books outlive whatever is in them.
local function keep_books(ttl)
  for _, key in ipairs({ HOLDERS, BEGUN, ENDED, BOOKS, CALLS, BYTES }) do
    redis.call('PEXPIRE', key, ttl + ${LASTING_MS})
  end
end
`;

/** ARGV: asked, holder, may_repeat, tenant, ttl, max_calls, max_bytes. */
const CLAIM = `
local asked, holder, may_repeat, tenant, ttl, max_calls, max_bytes = unpack(ARGV, 3)
local known = redis.call('HMGET', CALL, 'asked', 'holder', 'may_repeat', 'expires', 'mark', 'carrier')
if known[1] then
  -- A script sent before a connection was lost is sent again over the next one.
  if known[2] == holder then return { 'mine' } end
  local has_ended = not known[2]
  -- The holder itself asks for what it runs only if it could not say how that ended.
  local is_held = not has_ended and owner_of(known[2]) ~= owner_of(holder) and is_there(known[2])
  local is_running = is_held or (not has_ended and known[6] and is_there(known[6]))
  if is_running or now < tonumber(known[4]) then
    if known[1] ~= asked then return { 'conflict' } end
    if is_running then return { 'running' } end
    local result = has_ended and redis.call('HGET', CALL, 'result')
    if result then return { 'kept', result } end
    if has_ended then return { 'ended' } end
    if known[3] ~= '1' then return { 'lost' } end
  end
  if has_ended then forget(known[5]) end
  drop(DIGEST)
end
sweep_ended()
local expires = now + ttl
redis.call('ZADD', HOLDERS, now, owner_of(holder))
redis.call('HSET', CALL, 'asked', asked, 'holder', holder, 'may_repeat', may_repeat, 'expires', expires,
  'tenant', tenant, 'ttl', ttl, 'max_calls', max_calls, 'max_bytes', max_bytes)
redis.call('PEXPIRE', CALL, ttl + ${LASTING_MS})
redis.call('ZADD', BEGUN, expires, DIGEST)
keep_books(ttl)
return { 'mine' }
`;

/**
 * ARGV: holder, length of the result before it was sealed, the result or an empty text. Returns whether the holder held
 * the call.
 */
const SETTLE = `
local holder, length, result = ARGV[3], tonumber(ARGV[4]), ARGV[5]
local known = redis.call('HMGET', CALL, 'holder', 'tenant', 'ttl', 'max_calls', 'max_bytes')
if known[1] ~= holder then return 0 end
local tenant, ttl, max_calls, max_bytes = known[2], tonumber(known[3]), tonumber(known[4]), tonumber(known[5])

local function weight_of(one)
  return math.max((redis.call('ZSCORE', CALLS, one) or 0) / max_calls, (redis.call('ZSCORE', BYTES, one) or 0) / max_bytes)
end

-- The tenant with the largest share is evicted first: no tenant can make another one's calls run twice.
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

sweep_ended()
local fits = result ~= '' and length <= max_bytes * ${RESULT_SHARE}
local is_kept = make_room(${CALL_BYTES} + (fits and #result or 0)) and fits
local bytes, expires = ${CALL_BYTES} + (is_kept and #result or 0), now + ttl
local number = redis.call('HINCRBY', BOOKS, 'number', 1)
local mark = DIGEST .. ':' .. number .. ':' .. tenant .. ':' .. bytes
redis.call('ZREM', BEGUN, DIGEST)
redis.call('HDEL', CALL, 'holder', 'carrier', 'may_repeat', 'tenant', 'ttl', 'max_calls', 'max_bytes')
redis.call('HSET', CALL, 'expires', expires, 'mark', mark)
if is_kept then redis.call('HSET', CALL, 'result', result) end
redis.call('PEXPIRE', CALL, ttl)
redis.call('ZADD', ENDED, expires, mark)
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
if redis.call('HGET', CALL, 'holder') == ARGV[3] then drop(DIGEST) end
`;

/** ARGV: the holder's process. */
const SEE = `
see(ARGV[3])
`;

/**
 * ARGV: holder, the carrier's process. The call runs as long as either is alive. Returns whether the holder still holds
 * it.
 */
const CARRY = `
if redis.call('HGET', CALL, 'holder') ~= ARGV[3] then return 0 end
redis.call('HSET', CALL, 'carrier', ARGV[4])
see(ARGV[4])
return 1
`;

/** ARGV: holder, the carrier's process. */
const PUT_DOWN = `
local known = redis.call('HMGET', CALL, 'holder', 'carrier')
if known[1] == ARGV[3] and known[2] == ARGV[4] then redis.call('HDEL', CALL, 'carrier') end
`;

/** ARGV: the holder's process. */
const LEAVE = `
redis.call('ZREM', HOLDERS, ARGV[3])
`;

/** Postpones calls that run past their expiry, so that they do not block the removal of others. */
const SWEEP = `
sweep_ended()
for _, digest in expired(BEGUN) do
  local known = redis.call('HMGET', PREFIX .. ':call:' .. digest, 'holder', 'carrier')
  if (known[1] and is_there(known[1])) or (known[2] and is_there(known[2])) then
    redis.call('ZADD', BEGUN, now + ${HOLDER_LOST_MS}, digest)
  else
    drop(digest)
  end
end
`;

export const LEDGER_SCRIPTS = {
  claim: scriptOf(CLAIM),
  settle: scriptOf(SETTLE),
  release: scriptOf(RELEASE),
  see: scriptOf(SEE),
  carry: scriptOf(CARRY),
  putDown: scriptOf(PUT_DOWN),
  leave: scriptOf(LEAVE),
  sweep: scriptOf(SWEEP),
} as const;

function scriptOf(body: string): Script {
  return new Script(SHARED + body);
}
