import { randomBytes } from "node:crypto";
import { GloveboxError } from "../../kernel/base/errors.ts";
import { RedisConnection } from "../redis/connection.ts";
import type { RedisListener, RedisProblem } from "../../kernel/store/outage.ts";
import { RedisProblemError } from "../redis/problem.ts";
import { wordsOfLoss } from "../redis/reply.ts";
import { EFFECTS, RedisReport } from "../redis/report.ts";
import { Seal } from "../../kernel/store/seal.ts";
import { FleetKeys } from "./keys.ts";
import type { MemberKind, MemberOptions } from "./members.ts";
import { queueName } from "./messages.ts";
import { Payloads } from "./payloads.ts";
import { checkTimings, FLEET_TIMINGS, type FleetTimings } from "./fleet-timings.ts";

export interface FleetOptions {
  readonly url: string;
  readonly fleet: string;
  readonly secret?: string | undefined;
  /** The same on all members of a fleet. Default: `FLEET_TIMINGS`. */
  readonly timings?: FleetTimings | undefined;
}

/** A member's connections to its fleet, and its keys, seal and payloads there. */
export class Fleet {
  /** Unique for all time: no other member has or had this id. */
  readonly id: string;
  readonly connection: RedisConnection;
  /** For large data: commands on a connection wait behind earlier ones. */
  readonly bulk: RedisConnection;
  /** For data with a deadline: heartbeats and job locks. No large command or reply uses it. */
  readonly pulse: RedisConnection;
  readonly keys: FleetKeys;
  readonly seal: Seal;
  readonly payloads: Payloads;
  readonly timings: FleetTimings;
  readonly #name: string;
  readonly #report: RedisReport | null;

  /** Begins to connect. Throws a `TypeError` if the URL, the name or the secret is invalid. */
  constructor(
    { url, fleet, secret, timings = FLEET_TIMINGS }: FleetOptions,
    kind: MemberKind,
    listener?: RedisListener,
  ) {
    this.id = `${kind}-${randomBytes(8).toString("hex")}`;
    this.#name = fleet;
    this.timings = checkTimings(timings);
    this.keys = new FleetKeys(fleet);
    this.seal = Seal.of(secret);
    this.connection = RedisConnection.open(url, `glovebox:${this.id}`, { key: this.keys.prefix });
    this.bulk = this.connection.another("bulk");
    this.pulse = this.connection.another("pulse");
    this.payloads = new Payloads(this, this.keys, this.seal);
    const effect = EFFECTS[kind === "server" ? "fleet" : kind];
    const told = { uses: ["fleet"], effect, problem: () => this.problem } as const;
    this.#report = listener === undefined ? null : new RedisReport({ ...told, ...listener });
  }

  /**
   * The essential connection that has been lost for the longest time: `pulse` or `connection`. `bulk` is not essential.
   */
  get weakest(): RedisConnection {
    return this.pulse.lostForMs > this.connection.lostForMs ? this.pulse : this.connection;
  }

  /**
   * The reason why Redis cannot be used: it is lost, or refuses commands. `null` if it can, or the reason is not known
   * yet.
   */
  get problem(): RedisProblem | null {
    return this.weakest.problem;
  }

  /** Whether Redis is reached, and refuses no commands. */
  get isUsable(): boolean {
    return this.weakest.isReady && this.problem === null;
  }

  /** Access to heartbeats. */
  get members(): MemberOptions {
    return { connection: this.pulse, keys: this.keys, seal: this.seal, timings: this.timings };
  }

  /**
   * BullMQ's queue for a version of the protocol. Each secret has its own queue, because members cannot read jobs
   * sealed with another secret.
   */
  queueOf(protocol: number): string {
    const { mark } = this.seal;
    return mark === "" ? queueName(protocol) : `${queueName(protocol)}-${mark}`;
  }

  /**
   * Resolves once the essential connections are ready. Rejects with `executor_lost` after `ms`, or at once at a problem
   * that trying again does not solve; its `cause` is a `RedisProblemError`.
   */
  async reach(ms: number): Promise<void> {
    await Promise.all([this.connection, this.pulse].map((each) => each.reached(ms)));
    if (!this.weakest.isReady) throw this.#lost();
  }

  /** Throws like `reach` if Redis permanently refuses the commands of this member's first heartbeat. */
  requirePermission(): void {
    if (this.problem?.isLasting === true) throw this.#lost();
  }

  #lost(): GloveboxError {
    return this.unusable(`Redis ${wordsOfLoss(this.weakest)}`);
  }

  /**
   * The error for the starter of a member that cannot be used. Its `cause` is the problem of Redis, if there is one.
   */
  unusable(why: string): GloveboxError {
    const error = new GloveboxError("executor_lost", `the fleet "${this.#name}" cannot be used: ${why}`);
    if (this.problem !== null) error.cause = new RedisProblemError(this.problem);
    return error;
  }

  async close(): Promise<void> {
    this.#report?.[Symbol.dispose]();
    await Promise.all([this.connection, this.bulk, this.pulse].map((each) => each.close()));
  }
}
