import { randomBytes } from "node:crypto";
import { Redactor } from "../../src/kernel/base/redaction/redactor.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";

const BODY_BYTES = 1_000_000;
const CHUNK_BYTES = 64 * 1024;
const VALUE = "ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R";

/** Bodies of a million bytes, so that a millisecond is a nanosecond for each byte. */
const BODIES: Readonly<Record<string, Buffer>> = {
  text: Buffer.alloc(BODY_BYTES, "abcd efgh "),
  random: Buffer.from(randomBytes(BODY_BYTES).toString("base64")).subarray(0, BODY_BYTES),
  backslashes: Buffer.alloc(BODY_BYTES, "\\"),
  entities: Buffer.alloc(BODY_BYTES, "%25&amp;"),
  "beginnings of the secret": Buffer.alloc(BODY_BYTES, VALUE.slice(0, -1)),
};

/** The search for a secret in the answer to a request that carried it. The goal is 10 ns for each byte, whatever it is. */
export const redaction: Scenario = {
  name: "redaction",
  description:
    "a body of 1 MB in chunks of 64 KiB, searched for a secret of 40 characters; milliseconds are ns per byte",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet"], rounds: 5, sampleMs: 300 },
  async run(context) {
    const redactor = new Redactor([{ value: VALUE, shown: "glovebox.secret.KEY." }]);
    const subjects = Object.entries(BODIES).map(([name, body]): Subject => ({
      name,
      against: [],
      run: () => Promise.resolve(search(redactor, body)),
    }));
    return await measure(context, { subjects, expected: () => BODY_BYTES, latency: { name: "search_ms", unit: "ms" } });
  },
};

/** Number of bytes that come out. */
function search(redactor: Redactor, body: Buffer): number {
  const stream = redactor.stream();
  let bytes = 0;
  for (let at = 0; at < body.length; at += CHUNK_BYTES)
    bytes += stream.push(body.subarray(at, at + CHUNK_BYTES)).length;
  return bytes + stream.end().length;
}
