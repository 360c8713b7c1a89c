import type { KeyOptions } from "../../src/server/access/key-options.ts";
import { Keys } from "../../src/server/access/keys.ts";
import { createKey } from "../../src/server/access/secret.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";

const KEYS = 100;
/** One takes less than it takes to say that it is over. */
const AT_ONCE = 200;
const UNLIKE = "a key unlike any";

/**
 * How long a key takes to be found, and not to be: subjects take turns, so what the machine does meanwhile befalls all.
 * Ratios that stay at 1 say that time tells nothing of how close a key was.
 */
export const keys: Scenario = {
  name: "keys",
  description: `${AT_ONCE} times, one of ${KEYS} keys, or none of them`,
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet"], rounds: 15, sampleMs: 200 },
  async run(context) {
    const made = Array.from({ length: KEYS }, () => createKey());
    const known = new Keys(
      made.map(({ hash }, at): KeyOptions => ({ name: `k${at}`, hash, tenant: "t", roles: ["execute"] })),
    );
    const [first = "", last = ""] = [made[0]?.secret, made.at(-1)?.secret];
    const subject = (name: string, sent: string, isKnown: boolean): Subject => ({
      name,
      against: name === UNLIKE ? [] : [UNLIKE],
      sync: true,
      run: () => {
        let right = 0;
        for (let at = 0; at < AT_ONCE; at++) if ((known.find(sent) !== null) === isKnown) right++;
        return right;
      },
    });
    return await measure(context, {
      subjects: [
        subject(UNLIKE, createKey().secret, false),
        subject("the first key but for its end", `${first.slice(0, -1)}${first.endsWith("A") ? "B" : "A"}`, false),
        subject("the first key", first, true),
        subject("the last key", last, true),
      ],
      expected: () => AT_ONCE,
      latency: { name: "find_us", unit: "us" },
    });
  },
};
