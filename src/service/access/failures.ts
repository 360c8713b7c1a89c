import { createHmac, randomBytes } from "node:crypto";
import { isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";

/** Wrong keys that an address may send within a window before it is told to wait. */
const FAILURES_MAX = 20;
const WINDOW_SECONDS = 60;
/**
 * Addresses are counted in so many places, by a hash that nobody outside can foresee. So however many send wrong keys,
 * this is all that is remembered of them. Two that share a place share their patience, and whoever has a right key
 * needs none.
 */
const PLACES = 4_096;
/** Who has one address of version 6 has as many as it likes that begin with the same 64 bits. */
const NETWORK_PARTS = 4;

/** How often wrong keys come from where. No key can be guessed; this keeps those who try from filling logs and time. */
export class Failures {
  readonly #salt = randomBytes(16);
  readonly #limiter = new RateLimiterMemory({ points: FAILURES_MAX, duration: WINDOW_SECONDS });

  /** Notes a wrong key; answers for how many milliseconds no more of them are looked at, 0 where they are. */
  async note(address: string): Promise<number> {
    try {
      await this.#limiter.consume(this.#placeOf(address));
      return 0;
    } catch (refusal) {
      if (refusal instanceof Error) throw refusal;
      return Math.max(1, Math.ceil((refusal as RateLimiterRes).msBeforeNext));
    }
  }

  #placeOf(address: string): number {
    const digest = createHmac("sha256", this.#salt).update(networkOf(address)).digest();
    return digest.readUInt32BE(0) % PLACES;
  }
}

function networkOf(address: string): string {
  const [plain = ""] = address.split("%");
  if (!isIPv6(plain)) return plain;
  const parsed = ipaddr.process(plain);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, NETWORK_PARTS).join(":") : parsed.toString();
}
