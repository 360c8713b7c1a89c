import { prefixOf } from "../redis/keys.ts";
import { resolveFleetName } from "../redis/url.ts";

/** The names of a fleet's keys in Redis. All have one hash tag, so a cluster keeps them on one node. */
export class FleetKeys {
  readonly prefix: string;

  /** Throws a `TypeError` if the fleet's name is invalid. */
  constructor(fleet: string) {
    this.prefix = prefixOf(resolveFleetName("fleet", fleet));
  }

  /** `of("mail", id)` is `{glovebox:name}:mail:id`. */
  of(...parts: readonly string[]): string {
    return [this.prefix, ...parts].join(":");
  }
}
