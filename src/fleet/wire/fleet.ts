import { randomBytes } from "node:crypto";
import { GloveboxError } from "../../base/errors.ts";
import { RedisConnection } from "../../store/redis/connection.ts";
import { wordsOfLoss } from "../../store/redis/reply.ts";
import { Seal } from "../../store/redis/seal.ts";
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

/** A member's connections to its fleet, and what it needs to read and write there. */
export class Fleet {
  /** No other member has or had it. */
  readonly id: string;
  readonly connection: RedisConnection;
  /** For what is large: what is sent on a connection waits behind what was sent before. */
  readonly bulk: RedisConnection;
  /** For what has to be in time: that a member is there, and which jobs it has. Nothing long is sent on it, or asked for. */
  readonly pulse: RedisConnection;
  readonly keys: FleetKeys;
  readonly seal: Seal;
  readonly payloads: Payloads;
  readonly timings: FleetTimings;
  readonly #name: string;

  /** Begins to connect. Throws a `TypeError` where the URL, the name or the secret is invalid. */
  constructor({ url, fleet, secret, timings = FLEET_TIMINGS }: FleetOptions, kind: MemberKind) {
    this.id = `${kind}-${randomBytes(8).toString("hex")}`;
    this.#name = fleet;
    this.timings = checkTimings(timings);
    this.keys = new FleetKeys(fleet);
    this.seal = Seal.of(secret);
    this.connection = RedisConnection.open(url, `glovebox:${this.id}`, { key: this.keys.prefix });
    this.bulk = this.connection.another("bulk");
    this.pulse = this.connection.another("pulse");
    this.payloads = new Payloads(this, this.keys, this.seal);
  }

  /** The connection that has been lost for longest, of those without which nothing goes on; else any of them. */
  get weakest(): RedisConnection {
    return this.pulse.lostForMs > this.connection.lostForMs ? this.pulse : this.connection;
  }

  /** Access to heartbeats. */
  get members(): MemberOptions {
    return { connection: this.pulse, keys: this.keys, seal: this.seal, timings: this.timings };
  }

  /** BullMQ's queue for a version of the protocol. Members with other secrets have another, as they could not read what comes. */
  queueOf(protocol: number): string {
    const { mark } = this.seal;
    return mark === "" ? queueName(protocol) : `${queueName(protocol)}-${mark}`;
  }

  /** Resolves once there is a connection. Rejects with `executor_lost` after that time. */
  async reach(ms: number): Promise<void> {
    await Promise.all([this.connection, this.pulse].map((each) => each.ready(ms)));
    const { weakest } = this;
    if (!weakest.isReady) throw this.unusable(`Redis ${wordsOfLoss(weakest.failure)}`);
  }

  /** For whoever starts a member of it: why that cannot do its work. */
  unusable(why: string): GloveboxError {
    return new GloveboxError("executor_lost", `the fleet "${this.#name}" cannot be used: ${why}`);
  }

  async close(): Promise<void> {
    await Promise.all([this.connection, this.bulk, this.pulse].map((each) => each.close()));
  }
}
