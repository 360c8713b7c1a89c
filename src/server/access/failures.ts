import { createHmac, randomBytes } from "node:crypto";
import { isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";

/** Maximum number of wrong keys from an address per window. */
const FAILURES_MAX = 20;
const WINDOW_SECONDS = 60;
/**
 * Number of counters; an address is assigned to one by a secret hash. So memory is bounded for any number of senders of
 * wrong keys. Addresses with the same counter share their limit; a sender with a right key is not limited.
 */
const PLACES = 4_096;
/** An owner of one IPv6 address usually has its whole /64 network: count by its first 64 bits. */
const NETWORK_PARTS = 4;

/** Counts wrong keys by address. Keys cannot be guessed; the limit saves logs and CPU time. */
export class Failures {
  readonly #salt = randomBytes(16);
  readonly #limiter = new RateLimiterMemory({ points: FAILURES_MAX, duration: WINDOW_SECONDS });

  /** Counts a wrong key. Returns the time to wait in milliseconds, 0 while under the limit. */
  async note(address: string): Promise<number> {
    try {
      await this.#limiter.consume(this.#placeOf(address));
      return 0;
    } catch (refusal) {
      if (refusal instanceof Error) throw refusal;
      return Math.max(1, Math.ceil((refusal as RateLimiterRes).msBeforeNext));
    }
  }

  /** Whether an address has sent so many wrong keys that the next one is refused. */
  async isExhausted(address: string): Promise<boolean> {
    const used = await this.#limiter.get(this.#placeOf(address));
    return used !== null && used.remainingPoints <= 0 && used.msBeforeNext > 0;
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
