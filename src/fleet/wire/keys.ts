import { resolveFleetName } from "../../store/redis/url.ts";

/** The names of what a fleet keeps in Redis. All have one hash tag, so a cluster keeps them on one of its nodes. */
export class FleetKeys {
  readonly prefix: string;

  /** Throws a `TypeError` where a fleet cannot be called so. */
  constructor(fleet: string) {
    this.prefix = `{glovebox:${resolveFleetName("fleet", fleet)}}`;
  }

  /** `of("mail", id)` is `{glovebox:name}:mail:id`. */
  of(...parts: readonly string[]): string {
    return [this.prefix, ...parts].join(":");
  }
}
