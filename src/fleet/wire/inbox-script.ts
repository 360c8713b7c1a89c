import { Script } from "../../store/redis/script.ts";

/** Maximum size of an inbox entry: longer envelopes have a key of their own. Sealed, and in Base64, they come to half of that. */
export const ENVELOPE_BYTES_MAX = 512 * 1024;
/** Envelopes of one answer, and what they may be together: whoever can write to Redis must not fill the memory of who reads. */
const ENTRIES_MAX = 128;
const BYTES_MAX = 8 * 1024 * 1024;

/** Both parts of a place have 64 bits. */
const NTH_MAX = 2n ** 64n - 1n;

/** An entry of an inbox: its place, and the envelope as it was packed, or empty text where what is there is none. */
export interface InboxEntry {
  readonly id: string;
  readonly packed: string;
}

/**
 * KEYS: an inbox. ARGV: the entry that was read last, and `idAfter` of it: neither it nor what is before it is needed any more. Answers
 * what follows.
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
 * KEYS: an inbox. ARGV: envelopes that it holds, about; an envelope; for how long the inbox is kept. One step, so that no Redis that is killed
 * keeps the envelope and forgets that its inbox expires. It is sent as text: one that Redis did not know by its hash would come late.
 */
export const SEND_AND_EXPIRE = `
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'm', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
`;

/** Of a list of entries as Redis answers with it. */
export function entriesOf(answer: unknown): readonly InboxEntry[] {
  const entries: readonly unknown[] = Array.isArray(answer) ? answer : [];
  return entries.flatMap((entry) => {
    const [id, fields]: readonly unknown[] = Array.isArray(entry) ? entry : [];
    const packed: unknown = Array.isArray(fields) && fields.length === 2 ? fields[1] : "";
    return typeof id === "string" ? { id, packed: typeof packed === "string" ? packed : "" } : [];
  });
}

/** Entries of an inbox, and whether there were no others. */
export interface InboxPage {
  readonly entries: readonly InboxEntry[];
  readonly areAll: boolean;
}

/** Whether there was no more in an inbox when it answered with these. */
export function isLastPage(entries: readonly InboxEntry[]): boolean {
  return (
    entries.length < ENTRIES_MAX && entries.reduce((sum, { packed }) => sum + Buffer.byteLength(packed), 0) < BYTES_MAX
  );
}

/** Nothing in a stream lies between the two. */
export function idAfter(id: string): string {
  const dash = id.indexOf("-");
  const [ms, nth] = [BigInt(id.slice(0, dash)), BigInt(id.slice(dash + 1))];
  return nth < NTH_MAX ? `${ms}-${nth + 1n}` : `${ms + 1n}-0`;
}
