/** Buckets for each doubling: a quantile is at most a twentieth off. */
const STEPS = 8;
const LEAST_MS = 0.01;
/** Up to some three hours; what takes longer is counted as that. */
const BUCKETS = 30 * STEPS;

/** How long things took, in buckets that grow with the time, so that a short call is told as exactly as a long one. */
export class Latencies {
  readonly #counts = new Uint32Array(BUCKETS);
  #total = 0;

  observe(ms: number): void {
    const at = ms > LEAST_MS ? Math.min(BUCKETS - 1, Math.floor(Math.log2(ms / LEAST_MS) * STEPS)) : 0;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#total++;
  }

  /** The time within which a share of them, from 0 to 1, ended: in milliseconds; `null` where there were none. */
  quantile(share: number): number | null {
    if (this.#total === 0) return null;
    const wanted = Math.max(1, Math.ceil(share * this.#total));
    let seen = 0;
    let at = 0;
    for (; at < BUCKETS; at++) {
      seen += this.#counts[at] ?? 0;
      if (seen >= wanted) break;
    }
    // The middle of the bucket, as such buckets have it.
    return roundMs(LEAST_MS * 2 ** ((at + 0.5) / STEPS));
  }
}

/** Three digits say all that a bucket knows. */
function roundMs(ms: number): number {
  return Number(ms.toPrecision(3));
}
