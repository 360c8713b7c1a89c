/** A disk of a service's own, small, in a mount namespace of its own. Linux and root only. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Scene, SceneSettings } from "./scene.ts";

const SIZE = "24m";
/** Mounts a disk at a folder, with the options that are in a file beside it, and becomes the program. */
const MOUNTS = 'mkdir -p "$1" && mount -t tmpfs -o "size=$2,$(cat "$1.options")" tmpfs "$1" && shift 2 && exec "$@"';

/** A service that has a disk in the place of a folder of its own. */
export function onDisk(folder: string, more: SceneSettings = {}): SceneSettings {
  return {
    ...more,
    files: (of) => ({ ...more.files?.(of), [`${folder}.options`]: "rw" }),
    within: (of) => {
      const mounted = ["unshare", "--mount", "sh", "-c", MOUNTS, "sh", join(of.path, folder), SIZE];
      return [...mounted, ...(more.within?.(of) ?? [])];
    },
  };
}

/** Fills it to the last byte, again where room was made; answers what makes room. */
export function fill(scene: Scene, folder: string): () => void {
  const file = join(scene.path, folder, "fill");
  within(scene, ["sh", "-c", 'cat /dev/zero >>"$0" 2>/dev/null; sync; exit 0', file]);
  return () => within(scene, ["rm", file]);
}

/** Changes the options of the mount: `ro`, `rw`. */
export function remount(scene: Scene, folder: string, options: string): void {
  within(scene, ["mount", "-o", `remount,${options}`, join(scene.path, folder)]);
}

/** Runs a program where the server sees its files. */
export function within({ server }: Scene, command: readonly string[]): void {
  execFileSync("nsenter", ["--target", `${server.pid}`, "--mount", ...command], {
    stdio: ["ignore", "ignore", "pipe"],
  });
}

/** The configuration of a scene, as it is now. */
export function configOf({ path }: Scene): string {
  return readFileSync(join(path, "glovebox.config.yaml"), "utf8");
}
