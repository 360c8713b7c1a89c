import { HOLDER_LOST_MS } from "../../kernel/store/calls/ledger.ts";
import { Script } from "../redis/script.ts";
import { EXPIRY_MS, SHARED } from "./durable-keys.ts";
import { FORGET_TARGETS, NOTE_SCRIPTS, TELL } from "./note-scripts.ts";

/** Calls that one script removes, hands over, or examines: Redis serves no other client meanwhile. */
export const SWEPT_MAX = 100;
const DUE_MAX = 256;
export const LOOKED_MAX = 500;
/** Calls below one, and oldest ended calls of a tenant, that are loaded with it. */
const BELOW_MAX = 500;
const OLDEST = 8;
const TENANTS_MAX = 256;
const HOLDERS_MAX = 100;
/** Earlier versions in a call, by which a writer detects the outcome of a write whose answer was lost. */
const PAST_CHARS = 200;

const CHANGES = `
local function join(set, member)
  call('SADD', set, member)
  call('PEXPIRE', set, ${EXPIRY_MS})
end

local function book(ix, sign)
  local books, is_ended = key('books', ix.tenant), ix.state == 'ended'
  local number = call('HINCRBY', books, is_ended and 'ended' or 'calls', sign)
  call('HINCRBY', books, is_ended and 'ended_bytes' or 'bytes', sign * ix.bytes)
  call('HINCRBY', TOTAL, 'bytes', sign * ix.bytes)
  for _, each in ipairs({ books, TOTAL }) do call('PEXPIRE', each, ${EXPIRY_MS}) end
  if number > 0 then return end
  if (tonumber(call('HGET', books, is_ended and 'calls' or 'ended')) or 0) <= 0 then call('DEL', books) end
end

local function leave(id, ix)
  call('ZREM', key('state', ix.state), id)
  call('ZREM', key('of', ix.tenant .. ':' .. ix.state), id)
  if ix.wake then
    call('ZREM', key('wake', ix.tenant), id)
    line_up(WAKERS, 'wake', ix.tenant)
  end
  if ix.approval then call('ZREM', APPROVALS, id) end
  if ix.holder then call('SREM', key('running', ix.holder), id) end
  if ix.state == 'ready' then
    call('ZREM', key('ready', ix.tenant), id)
    line_up(TENANTS, 'ready', ix.tenant)
  elseif ix.state == 'ended' then
    call('ZREM', ENDED, id)
    call('ZREM', key('kept', ix.tenant), id)
  end
  if ix.parent and ix.state ~= 'ended' then call('SREM', key('made', ix.parent), id) end
  book(ix, -1)
end

local function enter(id, ix, n)
  add(key('state', ix.state), n, id)
  add(key('of', ix.tenant .. ':' .. ix.state), n, id)
  if ix.wake then
    add(key('wake', ix.tenant), ix.wake, id)
    line_up(WAKERS, 'wake', ix.tenant)
  end
  if ix.approval then add(APPROVALS, ix.approval, id) end
  if ix.holder then join(key('running', ix.holder), id) end
  if ix.state == 'ready' then
    add(key('ready', ix.tenant), ix.updated, id)
    line_up(TENANTS, 'ready', ix.tenant)
  elseif ix.state == 'ended' then
    add(ENDED, ix.ends, id)
    add(key('kept', ix.tenant), ix.ends, id)
  end
  if ix.parent and ix.state ~= 'ended' then join(key('made', ix.parent), id) end
  book(ix, 1)
end

local function drop(id)
  local text = call('HGET', key('call', id), 'ix')
  if not text then return call('ZREM', ENDED, id) end
  local ix = cjson.decode(text)
  leave(id, ix)
  call('UNLINK', key('call', id), key('made', id))
  if not ix.script then return end
  local script = key('script', ix.script)
  if call('HINCRBY', script, 'users', -1) > 0 then return end
  call('HINCRBY', TOTAL, 'bytes', -call('HSTRLEN', script, 'text'))
  call('UNLINK', script)
end
`;

/**
 * ARGV: the call; the digest of its tenant, and its parent, if known; its own parts to load (`head`, `whole`); whether
 * to load its family, too: its parent, the calls below it, and oldest ended calls of its tenant beyond a number or
 * bytes; the digest of a script; whether to return its text; the maximum bytes of long parts, or nothing; and further
 * calls. Returns the time, and if the rest is not too long also the books of the tenant, whether the script exists or
 * its text, and each call.
 */
const LOAD = `
local now = now_ms()
local root, tenant, parent, form, is_family = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7] == '1'
local script, is_told = ARGV[10], ARGV[11] == '1'
local most, long_bytes = tonumber(ARGV[12]) or math.huge, 0
local found, known = {}, {}

local function load(id, form)
  if known[id] then return nil end
  known[id] = true
  local its = call('HMGET', key('call', id), 'v', 'past', 'n', 'ix', 'head')
  local ix, long, seen = its[4] and cjson.decode(its[4]), {}, now
  if ix and (form == 'whole' or (form == 'head' and ix.state == 'ended')) then
    long_bytes = long_bytes + call('HSTRLEN', key('call', id), 'body') + call('HSTRLEN', key('call', id), 'run')
    if long_bytes <= most then
      long = call('HMGET', key('call', id), 'body', 'run')
      -- Empty are those that were not asked for: one that is gone must not be taken for one of them.
      for at = 1, 2 do
        if not long[at] or long[at] == '' then long[at] = 'gone' end
      end
    end
  end
  if ix and ix.holder and form == 'whole' then
    seen = math.max(tonumber(call('ZSCORE', HOLDERS, ix.holder)) or 0, since_ms())
  end
  local made = call('SCARD', key('made', id))
  table.insert(found, { id, its[1] or '', its[2] or '', its[3] or '', its[5] or '', long[1] or '', long[2] or '', made, seen })
  return ix
end

local ix = load(root, form)
if ix then
  tenant, parent = ix.tenant, ix.parent or ''
  if script == '' then script = ix.script or '' end
end
local books = call('HMGET', key('books', tenant), 'calls', 'bytes', 'ended', 'ended_bytes')
for at = 1, 4 do books[at] = tonumber(books[at]) or 0 end
if is_family then
  if parent ~= '' then load(parent, 'whole') end
  local below, at = { root }, 1
  while below[at] and #below < ${BELOW_MAX} do
    for _, id in ipairs(call('SMEMBERS', key('made', below[at]))) do
      if #below < ${BELOW_MAX} and not known[id] then
        load(id, 'head')
        table.insert(below, id)
      end
    end
    at = at + 1
  end
  if books[3] >= tonumber(ARGV[8]) or books[4] > tonumber(ARGV[9]) then
    for _, id in ipairs(call('ZRANGE', key('kept', tenant), 0, ${OLDEST - 1})) do load(id, 'bare') end
  end
end
for at = 13, #ARGV do load(ARGV[at], 'head') end
if long_bytes > most then return { now } end
local text = ''
if script ~= '' then
  if is_told then text = call('HGET', key('script', script), 'text') or ''
  else text = call('EXISTS', key('script', script)) == 1 and '1' or '' end
end
return { now, books, text, found }
`;

/**
 * ARGV: the new version, and the time until which it may be written; whether it must stay within the tenant's calls and
 * bytes, and the bytes of all, and these limits; a holder with a heartbeat; digest and sealed text of a script that
 * must exist; the number of calls that must be unchanged, with version, and number of calls made, of each; and the
 * written or dropped parts of each call. A repetition changes nothing. Returns `done`, or the reason why nothing is
 * changed.
 */
const COMMIT = `
local version, now = ARGV[3], now_ms()
local count = tonumber(ARGV[12])
local first = 13 + 3 * count
if call('HGET', key('call', ARGV[first + 1]), 'v') == version then return 'done' end
if now > tonumber(ARGV[4]) then return 'late' end
for at = 13, first - 1, 3 do
  local id, v, made = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  if (call('HGET', key('call', id), 'v') or '') ~= v or call('SCARD', key('made', id)) ~= tonumber(made) then
    return 'conflict'
  end
end
local script, text = ARGV[10], ARGV[11]
if script ~= '' and text == '' and call('EXISTS', key('script', script)) == 0 then return 'conflict' end

local ix = cjson.decode(ARGV[first + 2])
if ARGV[5] == '1' and ix.state ~= 'ended' then
  local old = call('HGET', key('call', ARGV[first + 1]), 'ix')
  local more = ix.bytes - (old and cjson.decode(old).bytes or 0)
  local books = call('HMGET', key('books', ix.tenant), 'calls', 'bytes')
  if not old and (tonumber(books[1]) or 0) >= tonumber(ARGV[6]) then return 'conflict' end
  if more > 0 and (tonumber(books[2]) or 0) + more > tonumber(ARGV[7]) then return 'conflict' end
  if more > 0 and (tonumber(call('HGET', TOTAL, 'bytes')) or 0) + more > tonumber(ARGV[8]) then return 'full' end
end

-- Redis refuses a script that is full only at its first write, and only if that may need room.
call('HINCRBY', TOTAL, 'bytes', 0)
if script ~= '' and call('EXISTS', key('script', script)) == 0 then
  call('HSET', key('script', script), 'text', text)
  call('HINCRBY', TOTAL, 'bytes', #text)
end
if script ~= '' then call('PEXPIRE', key('script', script), ${EXPIRY_MS}) end
if ARGV[9] ~= '' then add(HOLDERS, now, ARGV[9]) end

local function put(id, text, head, body, run, note)
  local own = key('call', id)
  local old = call('HMGET', own, 'ix', 'v', 'past', 'n')
  local past = string.sub((old[2] or '') .. ' ' .. (old[3] or ''), 1, ${PAST_CHARS})
  call('HSET', own, 'v', version, 'past', past, 'ix', text, 'head', head)
  if body ~= '' then call('HSET', own, 'body', body) end
  if run ~= '' then call('HSET', own, 'run', run) end
  call('PEXPIRE', own, ${EXPIRY_MS})
  local new, before, n = cjson.decode(text), old[1] and cjson.decode(old[1]), old[4]
  if before then leave(id, before)
  else
    n = call('INCR', SEQ)
    call('HSET', own, 'n', n)
    if new.script then call('HINCRBY', key('script', new.script), 'users', 1) end
  end
  enter(id, new, n)
  if note ~= '' and not (before and before.state == new.state) then tell(id, new.state, note, now) end
end

for at = first, #ARGV, 7 do
  if ARGV[at] == 'drop' then drop(ARGV[at + 1]) else put(unpack(ARGV, at + 1, at + 6)) end
end
return 'done'
`;

/** ARGV: a holder. */
const SEE = `
local now = now_ms()
beat(now)
call('ZADD', HOLDERS, now, ARGV[3])
call('PEXPIRE', HOLDERS, ${EXPIRY_MS})
return now
`;

/**
 * ARGV: the maximum number of ready calls. Returns the time, calls of each tenant with a due timer, calls whose holders
 * are lost, the time of the next look (-1: never), and ready calls of each tenant.
 */
const DUE = `
local now, most = now_ms(), tonumber(ARGV[3])
beat(now)
local function there(set, ids)
  local left = {}
  for _, id in ipairs(ids) do
    if call('EXISTS', key('call', id)) == 1 then table.insert(left, id) else call('ZREM', set, id) end
  end
  return left
end
local function of_each(line, kind, tenants, most, last)
  local each, found = math.max(1, math.ceil(most / math.max(1, #tenants))), {}
  for _, tenant in ipairs(tenants) do
    local set = key(kind, tenant)
    local some = there(set, call('ZRANGEBYSCORE', set, '-inf', last, 'LIMIT', 0, each))
    table.insert(found, some)
    if #some == 0 then line_up(line, kind, tenant) end
  end
  return found
end
local wakers = call('ZRANGEBYSCORE', WAKERS, '-inf', now, 'LIMIT', 0, ${TENANTS_MAX})
local due = of_each(WAKERS, 'wake', wakers, ${DUE_MAX}, now)
local lost, since, before = {}, since_ms(), now - ${HOLDER_LOST_MS}
if since <= before then
  for _, holder in ipairs(call('ZRANGEBYSCORE', HOLDERS, '-inf', before, 'LIMIT', 0, ${HOLDERS_MAX})) do
    local ids = call('SRANDMEMBER', key('running', holder), ${DUE_MAX})
    if #ids == 0 then call('ZREM', HOLDERS, holder) end
    for _, id in ipairs(ids) do
      if call('EXISTS', key('call', id)) == 0 then call('SREM', key('running', holder), id)
      elseif #lost < ${DUE_MAX} then table.insert(lost, id) end
    end
  end
end
local wake = tonumber(call('ZRANGE', WAKERS, 0, 0, 'WITHSCORES')[2])
local holders = call('ZRANGE', HOLDERS, 0, ${HOLDERS_MAX - 1}, 'WITHSCORES')
for at = 1, #holders, 2 do
  if call('EXISTS', key('running', holders[at])) == 1 then
    local lost_ms = math.max(tonumber(holders[at + 1]), since) + ${HOLDER_LOST_MS}
    if not wake or lost_ms < wake then wake = lost_ms end
    break
  end
end
local tenants = call('ZRANGE', TENANTS, 0, ${TENANTS_MAX - 1})
local ready = of_each(TENANTS, 'ready', tenants, most, '+inf')
return { now, due, lost, wake or -1, ready }
`;

/** Returns the time, the numbers of paused calls and of those in doubt, and since when the oldest approval is open (-1: none is). */
const STANDING = `
local opened = -1
for _, id in ipairs(call('ZRANGE', APPROVALS, 0, ${OLDEST - 1})) do
  if call('EXISTS', key('call', id)) == 1 then
    opened = tonumber(call('ZSCORE', APPROVALS, id))
    break
  end
  call('ZREM', APPROVALS, id)
end
return { now_ms(), call('ZCARD', key('state', 'paused')), call('ZCARD', key('state', 'in_doubt')), opened }
`;

/**
 * ARGV: the number before which to begin, the maximum number of calls, the bytes after which to stop, the digest of a
 * tool or nothing, and names of sets. Returns the number of the last examined call, whether there may be more, and id,
 * number, version and head of each.
 */
const LIST = `
local most, room, tool = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local all, is_more = {}, 0
for at = 7, #ARGV do
  local set = PREFIX .. ':' .. ARGV[at]
  local some = call('ZREVRANGEBYSCORE', set, '(' .. ARGV[3], '-inf', 'WITHSCORES', 'LIMIT', 0, ${LOOKED_MAX})
  for one = 1, #some, 2 do table.insert(all, { some[one], tonumber(some[one + 1]), set }) end
  if #some == 2 * ${LOOKED_MAX} then is_more = 1 end
end
table.sort(all, function(left, right) return left[2] > right[2] end)
local found, last = {}, ARGV[3]
for at, one in ipairs(all) do
  if at > ${LOOKED_MAX} or #found == most or room <= 0 then
    is_more = 1
    break
  end
  last = one[2]
  local its = call('HMGET', key('call', one[1]), 'ix', 'v', 'head')
  if not its[1] then call('ZREM', one[3], one[1])
  elseif tool == '' or cjson.decode(its[1]).tool == tool then
    table.insert(found, { one[1], one[2], its[2], its[3] })
    room = room - #its[3]
  end
end
return { last, is_more, found }
`;

/** Removes some ended calls that were kept long enough. Returns whether there may be more. */
const SWEEP = `
local old = call('ZRANGEBYSCORE', ENDED, '-inf', now_ms(), 'LIMIT', 0, ${SWEPT_MAX})
for _, id in ipairs(old) do drop(id) end
forget_targets(now_ms())
return #old == ${SWEPT_MAX} and 1 or 0
`;

export const DURABLE_SCRIPTS = {
  load: new Script(SHARED + LOAD),
  commit: new Script(SHARED + CHANGES + TELL + COMMIT),
  see: new Script(SHARED + SEE),
  due: new Script(SHARED + DUE),
  standing: new Script(SHARED + STANDING),
  list: new Script(SHARED + LIST),
  sweep: new Script(SHARED + CHANGES + FORGET_TARGETS + SWEEP),
  ...NOTE_SCRIPTS,
} as const;
