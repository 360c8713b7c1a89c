import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

const PATH_DEFAULT = "/usr/local/bin:/usr/bin:/bin";

/**
 * bubblewrap's arguments for namespaces of its own in everything, and an unknown user without capabilities and no way to
 * gain any. Its first process inside stays the parent of what runs there, which must not be the first itself: no signal
 * ends that. The session is its own because a signal to one's own process group goes to all that are in it, also to those
 * in other namespaces.
 */
export const ISOLATION: readonly string[] =
  "--unshare-all --unshare-user --uid 65534 --gid 65534 --cap-drop ALL --hostname glovebox --die-with-parent --new-session".split(
    " ",
  );

/** Where `bwrap` is, by the search path of this process; `null` where it is not installed. */
export function findBubblewrap(): string | null {
  const folders = (process.env["PATH"] ?? PATH_DEFAULT).split(delimiter).filter(isAbsolute);
  for (const folder of folders) {
    const file = join(folder, "bwrap");
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      continue;
    }
  }
  return null;
}
