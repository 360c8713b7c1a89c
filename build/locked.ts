import { readFileSync } from "node:fs";

/** A package of the lock file. */
export interface Locked {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** Only development needs it. */
  readonly dev?: true;
  readonly optional?: true;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Lock {
  readonly packages: Readonly<Record<string, Omit<Locked, "name"> & { readonly name?: string }>>;
}

const { packages } = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8")) as Lock;

/** The packages of the lock file by their folders, without the project itself. */
export const LOCKED: ReadonlyMap<string, Locked> = new Map(
  Object.entries(packages)
    .filter(([folder]) => folder !== "")
    // One that stands under another name has its own beside it.
    .map(([folder, one]) => [folder, { ...one, name: one.name ?? folder.split("node_modules/").at(-1) ?? folder }]),
);

/** The package of a name that the project itself imports. */
export function lockedOf(name: string): Locked {
  const found = LOCKED.get(`node_modules/${name}`);
  if (found === undefined) throw new Error(`${name} is not in package-lock.json`);
  return found;
}
