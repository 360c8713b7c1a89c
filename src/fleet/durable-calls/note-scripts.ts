import { NOTES_MAX, TARGET_LOST_MS } from "../../kernel/store/calls/durable/outbox-tables.ts";
import { Script } from "../redis/script.ts";
import { EXPIRY_MS, SHARED } from "./durable-keys.ts";

const KEYS = `
local TARGETS, DROPPED = PREFIX .. ':targets', PREFIX .. ':dropped'
`;

/** Writes a note for each target of an event of a call, in place of an earlier one. */
export const TELL = `${KEYS}
local function tell(id, event, text, now)
  local all = call('HGETALL', TARGETS)
  for at = 1, #all, 2 do
    local target, its = all[at], cjson.decode(all[at + 1])
    if its.seen > now - ${TARGET_LOST_MS} and string.find(its.events, ' ' .. event .. ' ', 1, true) then
      local due, noted, member = key('notes', target), key('noted', target), event .. ' ' .. id
      local n = call('HINCRBY', TOTAL, 'notes', 1)
      add(due, now, member)
      call('HSET', noted, member, cjson.encode({ n = n, made = now, tries = 0, text = text }))
      call('PEXPIRE', noted, ${EXPIRY_MS})
      if call('ZCARD', due) > ${NOTES_MAX} then
        local oldest = call('ZRANGE', due, 0, 0)[1]
        call('ZREM', due, oldest)
        call('HDEL', noted, oldest)
        call('HINCRBY', DROPPED, target, 1)
      end
    end
  end
end
`;

/** Forgets targets that no engine names any more, with their notes. */
export const FORGET_TARGETS = `${KEYS}
local function forget_targets(now)
  local all = call('HGETALL', TARGETS)
  for at = 1, #all, 2 do
    if cjson.decode(all[at + 1]).seen < now - ${TARGET_LOST_MS} then
      call('HDEL', TARGETS, all[at])
      call('HDEL', DROPPED, all[at])
      call('UNLINK', key('notes', all[at]), key('noted', all[at]))
    end
  end
end
`;

/**
 * Takes due notifications (notes). ARGV: the maximum number, the time for which they are taken, and of each target its
 * name, its events and its maximum number. Returns the time, the time of the next due note (-1: never), the number of
 * dropped notes, and of each note its target, its name, number, time, due time, tries and text, with current version
 * and head of its call.
 */
const NOTES = `${KEYS}
local now, room, lease = now_ms(), tonumber(ARGV[3]), tonumber(ARGV[4])
local found, next_ms, dropped = {}, -1, 0
for at = 5, #ARGV, 3 do
  local target, most = ARGV[at], math.min(room, tonumber(ARGV[at + 2]))
  local due, noted = key('notes', target), key('noted', target)
  call('HSET', TARGETS, target, cjson.encode({ events = ARGV[at + 1], seen = now }))
  for _, member in ipairs(call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, most)) do
    local text = call('HGET', noted, member)
    if text then
      local note, id = cjson.decode(text), string.match(member, ' (.+)$')
      local its = call('HMGET', key('call', id), 'v', 'head')
      note.tries = note.tries + 1
      call('HSET', noted, member, cjson.encode(note))
      table.insert(found, {
        target, member, note.n, note.made, tonumber(call('ZSCORE', due, member)), note.tries, note.text,
        its[1] or '', its[2] or ''
      })
      add(due, now + lease, member)
      room = room - 1
    else call('ZREM', due, member) end
  end
  local first = tonumber(call('ZRANGE', due, 0, 0, 'WITHSCORES')[2])
  if first and (next_ms == -1 or first < next_ms) then next_ms = first end
  dropped = dropped + (tonumber(call('HGET', DROPPED, target)) or 0)
  call('HDEL', DROPPED, target)
end
call('PEXPIRE', TARGETS, ${EXPIRY_MS})
return { now, next_ms, dropped, found }
`;

/** ARGV: a target, the name and the number of one of its notes, and the time when it is due again, or nothing. */
const TOLD = `
local due, noted, member = key('notes', ARGV[3]), key('noted', ARGV[3]), ARGV[4]
local text = call('HGET', noted, member)
-- A later note may stand in its place.
if not text or cjson.decode(text).n ~= tonumber(ARGV[5]) then return 0 end
if ARGV[6] ~= '' then add(due, ARGV[6], member)
else
  call('ZREM', due, member)
  call('HDEL', noted, member)
end
return 1
`;

export const NOTE_SCRIPTS = { notes: new Script(SHARED + NOTES), told: new Script(SHARED + TOLD) } as const;
