/** The operations of a fleet on Redis, and their costs. */

/**
 * - `gate`: a server asks for the places of the calls of a tick (own script); counted in calls
 * - `add`: a server hands over a job (`Queue.addBulk` with a priority); in KB of its data, as all that follow
 * - `wake`: a machine that blocks on the queue's marker is woken
 * - `take`: a machine takes a job (`Worker.getNextJob`)
 * - `takeNothing`: the same where no job waits
 * - `note`: a machine says whose turn it was (own script)
 * - `finish`: a machine ends a job (`job.moveToCompleted`, removed at once)
 * - `renew`: a machine renews the lock of a job
 * - `mail`: one entry of a recipient's stream: XADD, and the blocked XREAD that it wakes
 * - `beat`: the heartbeat of a server or a machine (SET PX)
 */
export const OPERATIONS = [
  "gate",
  "add",
  "wake",
  "take",
  "takeNothing",
  "note",
  "finish",
  "renew",
  "mail",
  "beat",
] as const;
export type OperationName = (typeof OPERATIONS)[number];

/** So much for each operation, and so much for each call or KB of it. */
export interface Line {
  readonly fixed: number;
  readonly each: number;
}

/** What an operation takes of Redis's one thread, of the asking process's thread, and of the network. */
export interface Cost {
  readonly redisUs: Line;
  readonly clientUs: Line;
  readonly wireBytes: Line;
}

export type Costs = ReadonlyMap<OperationName, Cost>;

/**
 * The straight line through what was measured at several sizes, each point weighed by its relative error: the small
 * ones count as much as the large. Neither part is below zero. One point is a cost without a size.
 */
export function fit(points: readonly { readonly size: number; readonly value: number }[]): Line {
  const [first] = points;
  if (first === undefined) throw new RangeError("there is no line through nothing");
  if (points.length === 1) return { fixed: Math.max(0, first.value), each: 0 };
  let [weights, sizes, values, squares, products] = [0, 0, 0, 0, 0];
  for (const { size, value } of points) {
    const weight = 1 / Math.max(value, 1e-3) ** 2;
    weights += weight;
    sizes += weight * size;
    values += weight * value;
    squares += weight * size * size;
    products += weight * size * value;
  }
  const spread = weights * squares - sizes * sizes;
  const each = Math.max(0, spread === 0 ? 0 : (weights * products - sizes * values) / spread);
  return { fixed: Math.max(0, (values - each * sizes) / weights), each };
}
