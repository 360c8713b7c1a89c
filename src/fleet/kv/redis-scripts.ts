import { Script } from "../redis/script.ts";
import { NAMES_KEPT_MS, NAMES_MAX } from "../../kernel/broker/capabilities/kv/kv-store.ts";
import { ENTRY_LEAST_BYTES } from "../../kernel/store/sqlite/layout.ts";

/** Maximum expired entries removed by one write. */
export const SWEPT_MAX = 100;
/**
 * Maximum entries examined for a page of a list; the next page continues there. Redis serves no other client meanwhile.
 */
const WALKED_MAX = 2_000;
/**
 * Time for which the version counter outlives its namespace: a caller with an old version must not meet the same number
 * again.
 */
const VERSION_KEPT_MS = 30 * 24 * 60 * 60 * 1_000;

/**
 * Common start of the scripts. A namespace has five Redis keys: values by key; heads by key (all but the value; the
 * head with the empty name is the namespace's size in bytes); keys in order; keys by expiry; the last version. The
 * first four expire with the last entry, so an unused namespace disappears.
 */
const COMMON = `
local values, heads, order, expiry, versions = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function whole(number)
  return string.format("%.0f", number)
end

local function parse(head)
  local version, bytes, expires = string.match(head, "^(%d+) (%d+) (%d*)$")
  return { version = tonumber(version), bytes = tonumber(bytes), expires = tonumber(expires) }
end

local function live(entry)
  return entry and (not entry.expires or entry.expires > now)
end
`;

const WRITING = `${COMMON}
local answers, named, names = KEYS[6], KEYS[7], KEYS[8]
local keptMs, once = ARGV[1], ARGV[2]

local function known()
  if once == "" then return redis.call("GET", answers) end
  return redis.call("HGET", named, once)
end

local function remember(answer)
  if once == "" then return redis.call("SET", answers, answer, "PX", keptMs) end
  redis.call("HSET", named, once, answer)
  if redis.call("RPUSH", names, once) > ${NAMES_MAX} then redis.call("HDEL", named, redis.call("LPOP", names)) end
  redis.call("PEXPIRE", named, ${NAMES_KEPT_MS})
  redis.call("PEXPIRE", names, ${NAMES_KEPT_MS})
end

local function find(key)
  local head = redis.call("HGET", heads, key)
  return head and parse(head)
end

local function holds(kind, version, entry)
  if kind == "absent" then return not live(entry) end
  if kind == "version" then return live(entry) and entry.version == tonumber(version) end
  return true
end

local function charged(bytes)
  return math.max(bytes, ${ENTRY_LEAST_BYTES})
end

local function remove(key, entry)
  redis.call("HDEL", values, key)
  redis.call("HDEL", heads, key)
  redis.call("ZREM", order, key)
  redis.call("ZREM", expiry, key)
  redis.call("HINCRBY", heads, "", whole(-charged(entry.bytes)))
end

local function sweep()
  local expired = redis.call("ZRANGEBYSCORE", expiry, "-inf", whole(now), "LIMIT", 0, ${SWEPT_MAX})
  for _, key in ipairs(expired) do
    local entry = find(key)
    if entry then remove(key, entry) else redis.call("ZREM", expiry, key) end
  end
  return #expired
end

local function keep()
  local count = redis.call("ZCARD", order)
  if count > redis.call("ZCARD", expiry) then
    if redis.call("PTTL", versions) == -1 and redis.call("PTTL", heads) == -1 then return end
    for at = 1, 5 do redis.call("PERSIST", KEYS[at]) end
    return
  end
  local last = now
  if count > 0 then last = tonumber(redis.call("ZRANGE", expiry, -1, -1, "WITHSCORES")[2]) end
  for at = 1, 4 do redis.call("PEXPIREAT", KEYS[at], whole(last)) end
  redis.call("PEXPIREAT", versions, whole(last + ${VERSION_KEPT_MS}))
end
`;

/** KEYS: the namespace's. ARGV: key. Returns the head and the value, or nothing. */
export const GET = new Script(`${COMMON}
local head = redis.call("HGET", heads, ARGV[1])
if not head or not live(parse(head)) then return false end
local value = redis.call("HGET", values, ARGV[1])
return value and { head, value }
`);

/**
 * KEYS: the namespace's, the key of the stored reply, and those of the replies to writes with names. ARGV: time to keep the
 * reply, name of the write, the condition's kind and version, key, value, time to live, quota. Returns words: `set 5`,
 * `unmatched`, `full 90 20`; after `swept`, run the script again.
 */
export const SET = new Script(`${WRITING}
local kind, wanted, key, value, ttlMs, quota = unpack(ARGV, 3)
local before = known()
if before then return before end

local function put(old)
  if not holds(kind, wanted, old) then return "unmatched" end
  local bytes = #key + #value
  local more = charged(bytes) - (old and charged(old.bytes) or 0)
  local used = tonumber(redis.call("HGET", heads, "") or 0)
  if more > 0 and used + more > tonumber(quota) then return "full " .. whole(used) .. " " .. whole(more) end
  local version = whole(redis.call("INCR", versions))
  local expires = ttlMs ~= "" and whole(now + tonumber(ttlMs)) or ""
  redis.call("HSET", values, key, value)
  redis.call("HSET", heads, key, version .. " " .. whole(bytes) .. " " .. expires)
  redis.call("HINCRBY", heads, "", whole(more))
  redis.call("ZADD", order, 0, key)
  if expires == "" then redis.call("ZREM", expiry, key) else redis.call("ZADD", expiry, expires, key) end
  return "set " .. version
end

local swept = sweep()
local answer = put(find(key))
keep()
if string.sub(answer, 1, 4) == "full" and swept == ${SWEPT_MAX} then return "swept" end
if once == "" or string.sub(answer, 1, 4) ~= "full" then remember(answer) end
return answer
`);

/**
 * KEYS: as for `SET`. ARGV: time to keep the reply, name of the write, the condition's kind and version, key. Returns
 * `deleted` or `unmatched`.
 */
export const DELETE = new Script(`${WRITING}
local kind, wanted, key = unpack(ARGV, 3)
local before = known()
if before then return before end
sweep()
local old = find(key)
local answer = "unmatched"
if live(old) and holds(kind, wanted, old) then
  remove(key, old)
  answer = "deleted"
end
keep()
remember(answer)
return answer
`);

/**
 * KEYS: the namespace's. ARGV: start in the order, prefix of the keys, maximum number. Returns the last key examined if
 * more may follow, else an empty text; then keys and heads alternately.
 */
export const LIST = new Script(`${COMMON}
local from, prefix, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local found, walked, last = {}, 0, ""
while true do
  local keys = redis.call("ZRANGEBYLEX", order, from, "+", "LIMIT", 0, limit + 1)
  if #keys == 0 then return { "", found } end
  local known = redis.call("HMGET", heads, unpack(keys))
  for at, key in ipairs(keys) do
    if string.sub(key, 1, #prefix) ~= prefix then return { "", found } end
    if #found == 2 * limit or walked == ${WALKED_MAX} then return { last, found } end
    walked = walked + 1
    last = key
    if known[at] and live(parse(known[at])) then
      found[#found + 1] = key
      found[#found + 1] = known[at]
    end
  end
  from = "(" .. last
end
`);
