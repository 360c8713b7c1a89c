import { Script } from "../redis/script.ts";

/**
 * Maximum size of an inbox entry: longer envelopes have a key of their own. Sealed and in Base64, envelopes stay within
 * half of that.
 */
export const ENVELOPE_BYTES_MAX = 512 * 1024;
/**
 * Maximum number and total size of the envelopes of one reply: a writer to Redis must not exhaust the reader's memory.
 */
const ENTRIES_MAX = 128;
const BYTES_MAX = 8 * 1024 * 1024;

/** Both parts of an entry id have 64 bits. */
const NTH_MAX = 2n ** 64n - 1n;

/** An entry of an inbox: its id and its packed envelope; empty text if the entry has an invalid form or size. */
export interface InboxEntry {
  readonly id: string;
  readonly packed: string;
}

/**
 * KEYS: an inbox. ARGV: the id of the last entry read, and `idAfter` of it; entries before that are removed. Returns
 * the entries that follow.
 */
export const READ_INBOX = new Script(`
local last = ARGV[1]
redis.call('XTRIM', KEYS[1], 'MINID', ARGV[2])
local entries, bytes = {}, 0
while #entries < ${ENTRIES_MAX} and bytes < ${BYTES_MAX} do
  local entry = redis.call('XRANGE', KEYS[1], '(' .. last, '+', 'COUNT', 1)[1]
  if not entry then break end
  local packed = #entry[2] == 2 and entry[2][2] or ''
  if #packed > ${ENVELOPE_BYTES_MAX} then packed = '' end
  last = entry[1]
  bytes = bytes + #packed
  entries[#entries + 1] = { last, { 'm', packed } }
end
return entries
`);

/**
 * KEYS: an inbox. ARGV: approximate maximum number of its envelopes; an envelope; lifetime of the inbox in
 * milliseconds. One step, so that a killed Redis cannot keep the envelope and lose the expiry. Sent as text with
 * `EVAL`: after a `NOSCRIPT` error the retry would arrive out of order.
 */
export const SEND_AND_EXPIRE = `
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'm', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
`;

/** The entries in a reply of Redis. */
export function entriesOf(answer: unknown): readonly InboxEntry[] {
  const entries: readonly unknown[] = Array.isArray(answer) ? answer : [];
  return entries.flatMap((entry) => {
    const [id, fields]: readonly unknown[] = Array.isArray(entry) ? entry : [];
    const packed: unknown = Array.isArray(fields) && fields.length === 2 ? fields[1] : "";
    return typeof id === "string" ? { id, packed: typeof packed === "string" ? packed : "" } : [];
  });
}

/** Entries of an inbox, and whether they were all that waited. */
export interface InboxPage {
  readonly entries: readonly InboxEntry[];
  readonly areAll: boolean;
}

/** Whether the inbox held no further entries when it returned these. */
export function isLastPage(entries: readonly InboxEntry[]): boolean {
  return (
    entries.length < ENTRIES_MAX && entries.reduce((sum, { packed }) => sum + Buffer.byteLength(packed), 0) < BYTES_MAX
  );
}

/** The smallest id after this one in a stream. */
export function idAfter(id: string): string {
  const dash = id.indexOf("-");
  const [ms, nth] = [BigInt(id.slice(0, dash)), BigInt(id.slice(dash + 1))];
  return nth < NTH_MAX ? `${ms}-${nth + 1n}` : `${ms + 1n}-0`;
}
