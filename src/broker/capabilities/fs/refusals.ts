import { CapabilityRefusal } from "../capability.ts";
import { type Mounts, mountGrants } from "./mounts.ts";

const PATH_SHOWN = 200;

/** Says no to one operation, in the tool's own words and paths. */
export class Refusals {
  readonly #method: string;
  readonly #mounts: Mounts;

  constructor(method: string, mounts: Mounts) {
    this.#method = method;
    this.#mounts = mounts;
  }

  notMounted(path: string, mount: string): CapabilityRefusal {
    const remedy = `add a mount to capabilities.fs of the tool, and with its path to allow.fs of a policy rule`;
    return this.#deny(path, `there is no mount "${mount.slice(0, 64)}"`, remedy);
  }

  readOnly(path: string, mount: string): CapabilityRefusal {
    const remedy = `set the mode of "${mount}" to "rw" in capabilities.fs of the tool, and in allow.fs of a policy rule`;
    return this.#deny(path, `the mount "${mount}" is read-only`, remedy);
  }

  mountsOnly(path: string): CapabilityRefusal {
    return this.#deny(path, "/ holds the mounts and nothing else", "write to a mount whose mode is rw");
  }

  leadsOut(path: string, mount: string): CapabilityRefusal {
    const remedy = "give the folder that the link leads to a mount of its own, or put what is needed into this one";
    return this.#deny(path, `a link leads out of the mount "${mount}"`, remedy);
  }

  special(path: string): CapabilityRefusal {
    const why = "it is neither a file nor a folder";
    return this.#deny(path, why, "put a file in its place: devices, pipes and sockets are never granted");
  }

  /** Something is beyond a limit of the capability. */
  beyond(path: string, granted: string, remedy: string): CapabilityRefusal {
    return new CapabilityRefusal("limit", `fs.${this.#method} is beyond a limit`, {
      asked: this.#asked(path),
      granted,
      remedy,
    });
  }

  #deny(path: string, why: string, remedy: string): CapabilityRefusal {
    const granted = `fs ${mountGrants.describe(this.#mounts)}`;
    return new CapabilityRefusal("denied", why, { asked: this.#asked(path), granted, remedy });
  }

  #asked(path: string): string {
    const shown = path.length > PATH_SHOWN ? `${path.slice(0, PATH_SHOWN)}…` : path;
    return `fs.${this.#method} of ${shown}`;
  }
}
