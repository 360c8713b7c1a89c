/** Longest name of a fleet, in characters. */
const NAME = /^[A-Za-z0-9._-]{1,64}$/;

/** The names of what a fleet keeps in Redis. All have one hash tag, so a cluster keeps them on one of its nodes. */
export class FleetKeys {
  readonly prefix: string;

  /** Throws a `TypeError` where a fleet cannot be called so. */
  constructor(fleet: string) {
    if (!NAME.test(fleet))
      throw new TypeError("the name of a fleet has 1 to 64 of A-Z, a-z, 0-9, dot, dash and underscore");
    this.prefix = `{glovebox:${fleet}}`;
  }

  /** `of("mail", id)` is `{glovebox:name}:mail:id`. */
  of(...parts: readonly string[]): string {
    return [this.prefix, ...parts].join(":");
  }
}
