import { Script } from "../redis/script.ts";
import type { FleetTimings } from "../wire/fleet-timings.ts";

/** Head start of one level of priority, in rounds: bounded, so that no job starves. */
export const LEVEL = 64;
/** Priorities are -LEVELS to LEVELS. */
export const LEVELS = 10;
/** The highest priority value of BullMQ; the lowest is 1. */
export const PLACES = 2 ** 21;
/** Maximum distance of a place below the virtual time: the most that priority is worth. */
const REACH = LEVEL * LEVELS;
/** The base moves when a place exceeds this, so that servers with the old base still have room. */
const MOVE_BEYOND = PLACES * 0.75;
/** Minimum move of the base: if one tenant fills all places, smaller moves would gain nothing and never end. */
const MOVE_LEAST = PLACES / 8;
/** Time after a move during which waiting jobs are moved: jobs with old places may still be added. */
const MOVING_MS = 60_000;
/** Time for one server to move the waiting jobs before another may. */
const MOVER_MS = 5_000;
const ORDER_EXPIRY_MS = 3_600_000;

/** Runs one command for many values, in parts: Lua's stack is bounded. */
const MANY = `
local function many(command, key, values)
  for i = 1, #values, 1000 do redis.call(command, key, unpack(values, i, math.min(i + 999, #values))) end
end
`;

/**
 * The order, in KEYS[1] and KEYS[2]. `v` is the virtual time, `base` the round of place 0; the sorted set has the tag
 * of each tenant's next job, if that is later than `v`. Numbers are written with all digits, because tags have
 * fractions.
 */
const ORDER = `
local call = redis.call
local clock = call('TIME')
local nowUs = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local nowMs = math.floor(nowUs / 1000)
local state = call('HMGET', KEYS[1], 'v', 'base', 'moved', 'mover')
local v = tonumber(state[1]) or 0
local base = tonumber(state[2]) or ${-REACH}
if not (math.abs(v) < 2^53 and math.abs(base) < 2^53) then v, base = 0, ${-REACH} end
local function text(number) return string.format('%.17g', number) end
local function keep()
  call('PEXPIRE', KEYS[1], ${ORDER_EXPIRY_MS})
  call('PEXPIRE', KEYS[2], ${ORDER_EXPIRY_MS})
end
`;

/** Notifies the waiters of a cap, oldest first, as many as there is room for, except `self`, which needs no message. */
const TELL = `
local function tell(channel, leases, free, waiters, self)
  table.sort(waiters, function(a, b) return a.since < b.since end)
  for i = 1, math.min(free, #waiters) do
    if waiters[i].server ~= self then call('PUBLISH', channel .. waiters[i].server, free .. ':' .. leases) end
  end
end
local function waitersAt(waits, nowMs)
  local waiters = {}
  local all = call('HGETALL', waits)
  for i = 1, #all, 2 do
    local since, expiry = string.match(all[i + 1], '^(%d+):(%d+)$')
    if not expiry or tonumber(expiry) <= nowMs then call('HDEL', waits, all[i])
    else waiters[#waiters + 1] = { server = all[i], since = tonumber(since) } end
  end
  return waiters
end
local function wait(waits, server, since, nowMs)
  call('HSET', waits, server, string.format('%.0f:%.0f', since, nowMs + waiterMs))
  call('PEXPIRE', waits, waiterMs)
end
`;

/**
 * KEYS: the order's two, then for each cap its leases and its waiters. ARGV: server, channel, number of caps; for each
 * cap its limit and the time since which the oldest request waits that this server does not hand in now (`now`,
 * `none`). Without caps, for each group of requests their number, tenant, level and cost; with caps, for each request
 * id, tenant, level, cost, the numbers of its two caps, the time since which it waits, and the caps that have held it
 * (1 its tenant's, 2 its tool's). Returns the base, whether to move waiting jobs, the time; then for each group its
 * first tag as text or, with caps, for each request its tag as text or the caps that hold it as a number.
 */
const ADMIT = `${ORDER}${TELL}${MANY}
local server, channel, capCount = ARGV[1], ARGV[2], tonumber(ARGV[3])
local at = 3
local caps = {}
for i = 1, capCount do
  local leases, waits = KEYS[1 + 2 * i], KEYS[2 + 2 * i]
  call('ZREMRANGEBYSCORE', leases, '-inf', nowMs)
  local cap = { leases = leases, waits = waits, free = tonumber(ARGV[at + 1]) - call('ZCARD', leases),
    since = tonumber(ARGV[at + 2]) or (ARGV[at + 2] == 'now' and nowUs or nil), others = {}, added = {} }
  for _, waiter in ipairs(waitersAt(waits, nowMs)) do
    if waiter.server == server then cap.mine = waiter.since else cap.others[#cap.others + 1] = waiter end
  end
  caps[i] = cap
  at = at + 2
end
local function hasRoom(cap, since)
  local free = cap.free
  for _, other in ipairs(cap.others) do
    if free < 1 then return false end
    if other.since < since then free = free - 1 end
  end
  return free >= 1
end
local function lease(cap, id)
  cap.added[#cap.added + 1] = nowMs + leaseMs
  cap.added[#cap.added + 1] = server .. ':' .. id
  cap.free = cap.free - 1
end
local nextTag, lastPlace = {}, base
local function turn(tenant, level, cost, count)
  local tag = nextTag[tenant] or tonumber(call('ZSCORE', KEYS[2], tenant) or nil) or v
  if not (tag >= v and tag < 2^53) then tag = v end
  nextTag[tenant] = tag + count * cost
  lastPlace = math.max(lastPlace, nextTag[tenant] - cost - ${LEVEL} * level)
  return text(tag)
end
local answer = { '', 0, string.format('%.0f', nowUs) }
local width = capCount > 0 and 8 or 4
for i = at + 1, #ARGV, width do
  local hold, count, ofTenant, ofTool, since, held = 0, 1
  if capCount == 0 then count = tonumber(ARGV[i])
  else
    ofTenant, ofTool = caps[tonumber(ARGV[i + 4])], caps[tonumber(ARGV[i + 5])]
    since, held = tonumber(ARGV[i + 6]) or nowUs, tonumber(ARGV[i + 7])
    if ofTenant and not hasRoom(ofTenant, since) then hold = 1 end
    if ofTool and not hasRoom(ofTool, since) then hold = hold + 2 end
  end
  if hold == 0 then
    if ofTenant then lease(ofTenant, ARGV[i]) end
    if ofTool then lease(ofTool, ARGV[i]) end
    answer[#answer + 1] = turn(ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]), count)
  else
    answer[#answer + 1] = hold
    hold = bit.bor(hold, held)
    if bit.band(hold, 1) > 0 then ofTenant.since = math.min(ofTenant.since or since, since) end
    if bit.band(hold, 2) > 0 then ofTool.since = math.min(ofTool.since or since, since) end
  end
end
for _, cap in ipairs(caps) do
  many('ZADD', cap.leases, cap.added)
  if #cap.added > 0 then call('PEXPIRE', cap.leases, leaseMs) end
  if cap.since then wait(cap.waits, server, cap.since, nowMs)
  elseif cap.mine then call('HDEL', cap.waits, server) end
  if cap.mine and cap.free > 0 and #cap.others > 0 and (cap.since or math.huge) > cap.mine then
    if cap.since then cap.others[#cap.others + 1] = { server = server, since = cap.since } end
    tell(channel, cap.leases, cap.free, cap.others, server)
  end
end
local tags = {}
for tenant, tag in pairs(nextTag) do
  tags[#tags + 1] = text(tag)
  tags[#tags + 1] = tenant
end
many('ZADD', KEYS[2], tags)
local moved = math.floor(v) - ${REACH}
if lastPlace - base > ${MOVE_BEYOND} and moved - base >= ${MOVE_LEAST} then
  base = moved
  answer[2] = 1
  call('HSET', KEYS[1], 'base', text(base), 'moved', nowMs, 'mover', nowMs + ${MOVER_MS})
end
answer[1] = text(base)
keep()
return answer
`;

/**
 * KEYS: for each cap its leases and its waiters. ARGV: server, channel; for each cap its limit, the time since which
 * this server waits there (`now`: as before, or from now on; `none`: no longer), the number of leases that end, and
 * their ids.
 */
const RELEASE = `
local call = redis.call
local clock = call('TIME')
local nowMs = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
${TELL}${MANY}
local server, channel, at = ARGV[1], ARGV[2], 3
for i = 1, #KEYS, 2 do
  local leases, waits, limit, since, count = KEYS[i], KEYS[i + 1], tonumber(ARGV[at]), ARGV[at + 1], tonumber(ARGV[at + 2])
  at = at + 3
  local ended = {}
  for k = at, at + count - 1 do ended[#ended + 1] = server .. ':' .. ARGV[k] end
  many('ZREM', leases, ended)
  at = at + count
  if since == 'none' then call('HDEL', waits, server)
  elseif since ~= 'now' then wait(waits, server, tonumber(since), nowMs)
  elseif call('HEXISTS', waits, server) == 0 then wait(waits, server, nowMs * 1000, nowMs) end
  local waiters = waitersAt(waits, nowMs)
  if #waiters > 0 then
    call('ZREMRANGEBYSCORE', leases, '-inf', nowMs)
    tell(channel, leases, limit - call('ZCARD', leases), waiters, '')
  end
end
`;

/**
 * KEYS: the order's two, then the leases of each cap. ARGV: server; for each cap the number of leases, and their ids.
 * Returns the base if this server is to move waiting jobs. Restores leases that Redis has lost.
 */
const RENEW = `${ORDER}${MANY}
local at = 2
for i = 3, #KEYS do
  local count = tonumber(ARGV[at])
  local kept = {}
  for k = at + 1, at + count do
    kept[#kept + 1] = nowMs + leaseMs
    kept[#kept + 1] = ARGV[1] .. ':' .. ARGV[k]
  end
  many('ZADD', KEYS[i], kept)
  call('PEXPIRE', KEYS[i], leaseMs)
  at = at + 1 + count
end
keep()
if nowMs - (tonumber(state[3]) or 0) > ${MOVING_MS} or nowMs < (tonumber(state[4]) or 0) then return false end
call('HSET', KEYS[1], 'mover', nowMs + ${MOVER_MS})
return text(base)
`;

/**
 * KEYS: the order's two. ARGV: for each taken job, the least virtual time. The virtual time also advances by a share of
 * a round for each job, one round in as many jobs as there are tenants: otherwise new tenants, which start at the
 * virtual time, would always overtake a waiting one.
 */
export const TAKEN = new Script(`${ORDER}
local tenants = math.max(1, call('ZCOUNT', KEYS[2], '(' .. text(v), '+inf'))
for _, least in ipairs(ARGV) do v = math.max(v + 1 / tenants, tonumber(least)) end
call('HSET', KEYS[1], 'v', text(v))
call('ZREMRANGEBYSCORE', KEYS[2], '-inf', text(v))
keep()
`);

/** The scripts of the fleet's order and caps, with `leaseMs` and `waiterMs` from the timings. */
export interface SchedulerScripts {
  readonly admit: Script;
  readonly release: Script;
  readonly renew: Script;
}

export function schedulerScripts({ leaseMs, waiterMs }: FleetTimings): SchedulerScripts {
  const lifetimes = `local leaseMs, waiterMs = ${Math.ceil(leaseMs)}, ${Math.ceil(waiterMs)}`;
  const scriptOf = (text: string): Script => new Script(`${lifetimes}${text}`);
  return { admit: scriptOf(ADMIT), release: scriptOf(RELEASE), renew: scriptOf(RENEW) };
}
