import { Script } from "../redis/script.ts";

/** Calls that one script removes, and looks at: Redis serves nobody else for up to a millisecond. */
const REMOVED_MAX = 64;
export const LOOKED_MAX = 500;
/** Size of the data that one script reads for an export. */
const READ_BYTES = 4 * 1024 * 1024;
/** Memory of Redis for a call, and for a detail, in addition to their texts: measured with Redis 7. */
const CALL_BYTES = 650;
const DETAIL_BYTES = 250;

/**
 * Keys in Redis, below a prefix. A member is a call's place as a text.
 *
 * - `rows` and `details`: sealed texts by member. A row begins with six words in plain form: outcome, digests of tool,
 *   tenant and parent, and two by which the newest call of an id is found.
 * - Sorted sets of members, all with the score 0, so that their order is that of texts: `all`, `failed`, `dated` (those
 *   with a detail), `code:CODE` of failures, `tool:DIGEST`, `tenant:DIGEST` and `parent:DIGEST`.
 * - `ids`: the newest member by either digest of an id.
 * - `books`: bytes of `rows` and of `details`.
 * - `watched`, while a reader gets calls on the channel `kept`.
 *
 * All keys expire if no call is kept for the retention time.
 */
const SHARED = `
local ROWS, DETAILS, ALL, FAILED, DATED, IDS, BOOKS = unpack(KEYS)
local PREFIX = ARGV[1]

local function key(kind, name)
  return PREFIX .. ':' .. kind .. ':' .. name
end

local function words_of(row)
  return string.match(row, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) ')
end

-- Keys of the sorted sets that have a call besides that of all.
local function sets_of(code, tool, tenant, parent)
  local sets = { key('tool', tool), key('tenant', tenant) }
  if parent ~= '-' then table.insert(sets, key('parent', parent)) end
  if code ~= 'ok' then
    table.insert(sets, FAILED)
    table.insert(sets, key('code', code))
  end
  return sets
end

local function drop_detail(member)
  redis.call('ZREM', DATED, member)
  local length = redis.call('HSTRLEN', DETAILS, member)
  if length == 0 then return end
  redis.call('HDEL', DETAILS, member)
  redis.call('HINCRBY', BOOKS, 'details', -length - ${DETAIL_BYTES})
end

local function drop(member)
  drop_detail(member)
  redis.call('ZREM', ALL, member)
  local row = redis.call('HGET', ROWS, member)
  if not row then return end
  redis.call('HDEL', ROWS, member)
  redis.call('HINCRBY', BOOKS, 'rows', -#row - ${CALL_BYTES})
  local code, tool, tenant, parent, id, own = words_of(row)
  for _, set in ipairs(sets_of(code, tool, tenant, parent)) do redis.call('ZREM', set, member) end
  for _, one in ipairs({ id, own }) do
    if redis.call('HGET', IDS, one) == member then redis.call('HDEL', IDS, one) end
  end
end

local function bytes()
  local sums = redis.call('HMGET', BOOKS, 'rows', 'details')
  return (tonumber(sums[1]) or 0) + (tonumber(sums[2]) or 0)
end
`;

/**
 * ARGV: milliseconds for which calls are kept, and details, the sender, and then member, row and detail of each call,
 * of which an existing one stays. Watchers get it. Returns the bytes.
 */
const ADD = `
local call_ms, detail_ms, sender = ARGV[2], ARGV[3], ARGV[4]
local touched, is_watched = {}, redis.call('EXISTS', PREFIX .. ':watched') == 1
-- Redis refuses a script that is full only at its first write, and only if that may need room.
redis.call('HINCRBY', BOOKS, 'rows', 0)
-- What has expired is not in the books.
if redis.call('EXISTS', ROWS) == 0 then redis.call('DEL', BOOKS, IDS) end
if redis.call('EXISTS', DETAILS) == 0 then redis.call('HDEL', BOOKS, 'details') end
for at = 5, #ARGV, 3 do
  local member, row, detail = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  if redis.call('HSETNX', ROWS, member, row) == 1 then
    local code, tool, tenant, parent, id, own = words_of(row)
    redis.call('HINCRBY', BOOKS, 'rows', #row + ${CALL_BYTES})
    redis.call('ZADD', ALL, 0, member)
    for _, set in ipairs(sets_of(code, tool, tenant, parent)) do
      redis.call('ZADD', set, 0, member)
      touched[set] = true
    end
    redis.call('HSET', IDS, id, member, own, member)
    if detail ~= '' then
      redis.call('HSET', DETAILS, member, detail)
      redis.call('ZADD', DATED, 0, member)
      redis.call('HINCRBY', BOOKS, 'details', #detail + ${DETAIL_BYTES})
    end
    if is_watched then redis.call('PUBLISH', PREFIX .. ':kept', sender .. ' ' .. member .. ' ' .. row) end
  end
end
for set in pairs(touched) do redis.call('PEXPIRE', set, call_ms) end
for _, each in ipairs({ ROWS, ALL, IDS, BOOKS }) do redis.call('PEXPIRE', each, call_ms) end
for _, each in ipairs({ DETAILS, DATED }) do redis.call('PEXPIRE', each, detail_ms) end
return bytes()
`;

/** ARGV: bytes for all, members before which calls, and details, are too old. Returns the bytes, and whether more is to go. */
const SWEEP = `
local max, call_end, detail_end = tonumber(ARGV[2]), ARGV[3], ARGV[4]
local function oldest(set, last)
  return redis.call('ZRANGEBYLEX', set, '-', last, 'LIMIT', 0, ${REMOVED_MAX})
end
local calls, details = oldest(ALL, '(' .. call_end), oldest(DATED, '(' .. detail_end)
for _, member in ipairs(calls) do drop(member) end
for _, member in ipairs(details) do drop_detail(member) end
local is_left = #calls == ${REMOVED_MAX} or #details == ${REMOVED_MAX}
if is_left then return { bytes(), 1 } end
-- The oldest calls, and the oldest details: neither leaves no room for the other.
if bytes() > max then
  calls, details = oldest(ALL, '+'), oldest(DATED, '+')
  for at = 1, ${REMOVED_MAX} do
    if bytes() <= max then break end
    if calls[at] then drop(calls[at]) end
    if details[at] then drop_detail(details[at]) end
  end
end
return { bytes(), bytes() > max and #calls > 0 and 1 or 0 }
`;

/**
 * KEYS: the rows, and sets of members: the shortest within the range is examined. ARGV: the start and the end, the
 * maximum number, and the outcome and the digests of tool, tenant and parent that a call must have; empty for any. An
 * outcome of `!` is any failure. Returns the number of examined ones, the last of them, whether there may be more, and
 * then member and row of each match.
 */
const LIST = `
local first, last, most = ARGV[1], ARGV[2], tonumber(ARGV[3])
local code, tool, tenant, parent = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local set, least
for at = 2, #KEYS do
  local length = redis.call('ZLEXCOUNT', KEYS[at], last, first)
  if not least or length < least then set, least = KEYS[at], length end
end
local function fits(row)
  local its, of_tool, of_tenant, of_parent = string.match(row, '^(%S+) (%S+) (%S+) (%S+) ')
  return (code == '' or its == code or (code == '!' and its ~= 'ok')) and (tool == '' or of_tool == tool)
    and (tenant == '' or of_tenant == tenant) and (parent == '' or of_parent == parent)
end
local members = redis.call('ZREVRANGEBYLEX', set, first, last, 'LIMIT', 0, ${LOOKED_MAX})
local found, looked = {}, 0
for from = 1, #members, 50 do
  local part = { unpack(members, from, math.min(from + 49, #members)) }
  for at, row in ipairs(redis.call('HMGET', KEYS[1], unpack(part))) do
    looked = looked + 1
    if row and fits(row) then
      table.insert(found, part[at])
      table.insert(found, row)
      if #found == 2 * most then return { looked, part[at], 1, unpack(found) } end
    end
  end
end
return { looked, members[#members] or '', #members == ${LOOKED_MAX} and 1 or 0, unpack(found) }
`;

/** KEYS: ids, rows, details. ARGV: digest of an id. Returns the newest member with its texts, or nothing. */
const GET = `
local member = redis.call('HGET', KEYS[1], ARGV[1])
if not member then return {} end
return { member, redis.call('HGET', KEYS[2], member), redis.call('HGET', KEYS[3], member) }
`;

/** KEYS: details. ARGV: member. */
const DETAIL = `return redis.call('HGET', KEYS[1], ARGV[1])`;

/** KEYS: all, rows, details. ARGV: the start. Returns member, row and detail of each, oldest first. */
const READ = `
local found, size = {}, 0
for _, member in ipairs(redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], '+', 'LIMIT', 0, ${LOOKED_MAX})) do
  local row, detail = redis.call('HGET', KEYS[2], member), redis.call('HGET', KEYS[3], member)
  table.insert(found, { member, row, detail })
  size = size + #(row or '') + #(detail or '')
  if size > ${READ_BYTES} then break end
end
return found
`;

export const CALL_SCRIPTS = {
  add: new Script(SHARED + ADD),
  sweep: new Script(SHARED + SWEEP),
  list: new Script(LIST),
  get: new Script(GET),
  detail: new Script(DETAIL),
  read: new Script(READ),
} as const;
