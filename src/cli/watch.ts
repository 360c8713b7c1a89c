import { existsSync, type FSWatcher, realpathSync, statSync, watch } from "node:fs";
import path from "node:path";
import type { Engine } from "../kernel/engine/engine.ts";
import { isUrl } from "../kernel/tool/package/location.ts";
import type { Configuration } from "../server/config/configuration.ts";
import { say } from "./output.ts";

/** Time without changes before a report: editors write a file in several steps, deployments write many files. */
const QUIET_MS = 300;

/** Clocks of file systems are behind the system's by up to a tick. */
const TICK_MS = 10;

/** A folder in which files are watched. */
interface WatchedFolder {
  readonly watcher: FSWatcher;
  /** Identifies the folder. */
  readonly inode: number;
  /** `undefined`: all. */
  names: ReadonlySet<string> | undefined;
}

/** Watches places, and the files that tools are made of: reports a change once no more follow. */
export class Watch implements Disposable {
  readonly #onChange: () => void;
  readonly #watchers: FSWatcher[] = [];
  /** Folders that are watched with all below them. */
  readonly #whole: string[] = [];
  readonly #folders = new Map<string, WatchedFolder>();
  #timer: NodeJS.Timeout | undefined;
  #hasFailed = false;

  constructor(places: readonly string[], onChange: () => void) {
    this.#onChange = onChange;
    for (const place of places) if (!isUrl(place) && existsSync(place)) this.#watchPlace(realpathSync(place));
  }

  /**
   * Watches these files, in place of those of an earlier call. `sinceMs`: start of reading them, by `Date.now()`; a
   * file that was changed since then and was not watched yet counts as changed, too.
   */
  follow(files: Iterable<string>, sinceMs: number): void {
    const wanted = new Map<string, Set<string> | undefined>();
    for (const file of files) {
      if (this.#whole.some((folder) => file.startsWith(folder + path.sep))) continue;
      const folder = path.dirname(file);
      // If a folder is missing, the next one above it reports its return.
      const there = nearest(folder);
      if (there !== folder) wanted.set(there, undefined);
      else if (!wanted.has(folder)) wanted.set(folder, new Set([path.basename(file)]));
      else wanted.get(folder)?.add(path.basename(file));
    }
    for (const [folder, { watcher, inode }] of this.#folders) {
      if (wanted.has(folder) && inodeOf(folder) === inode) continue;
      watcher.close();
      this.#folders.delete(folder);
    }
    for (const [folder, names] of wanted) {
      const places = this.#unwatched(folder, names);
      this.#watchFolder(folder, names);
      if (places.some((place) => changeMs(place) >= sinceMs - TICK_MS)) this.#changed();
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers) watcher.close();
    for (const { watcher } of this.#folders.values()) watcher.close();
  }

  /** Watches a file through its folder, as editors and deployments replace files. */
  #watchPlace(place: string): void {
    const isFolder = statSync(place).isDirectory();
    if (isFolder) this.#whole.push(place);
    const name = path.basename(place);
    const watcher = this.#open(isFolder ? place : path.dirname(place), isFolder, (changed) => {
      if (isFolder || changed === name) this.#changed();
    });
    if (watcher !== undefined) this.#watchers.push(watcher);
  }

  #unwatched(folder: string, names: ReadonlySet<string> | undefined): readonly string[] {
    const known = this.#folders.get(folder);
    if (known !== undefined && known.names === undefined) return [];
    if (names === undefined) return [folder];
    return [...names].filter((name) => known?.names?.has(name) !== true).map((name) => path.join(folder, name));
  }

  #watchFolder(folder: string, names: ReadonlySet<string> | undefined): void {
    const known = this.#folders.get(folder);
    if (known !== undefined) {
      known.names = names;
      return;
    }
    const watcher = this.#open(folder, false, (changed) => {
      const wanted = this.#folders.get(folder)?.names;
      if (changed === null || wanted === undefined || wanted.has(changed)) this.#changed();
    });
    const inode = inodeOf(folder);
    if (watcher !== undefined && inode !== undefined) this.#folders.set(folder, { watcher, inode, names });
  }

  #open(folder: string, recursive: boolean, onEvent: (name: string | null) => void): FSWatcher | undefined {
    try {
      const watcher = watch(folder, { recursive }, (_event, name) => onEvent(name));
      // A place that can no longer be watched is read again at the next SIGHUP.
      return watcher.on("error", () => watcher.close());
    } catch (error) {
      // For example, more folders than the system watches for one user.
      const { code = "unknown error" } = error as NodeJS.ErrnoException;
      if (!this.#hasFailed) say(`glovebox: warning: not all files are watched: ${code}; SIGHUP reads them again`);
      this.#hasFailed = true;
      return undefined;
    }
  }

  #changed(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onChange, QUIET_MS);
  }
}

/** Watches the sources of a service, from the start of the process on. */
export function watchSources(
  { values, file }: Pick<Configuration, "values" | "file">,
  engine: Engine,
  reload: () => Promise<void>,
): Watch {
  const tools = (values.tools ?? []).map((tool) => (typeof tool === "string" ? tool : tool.path));
  const watching = new Watch([...(file === undefined ? [] : [file]), ...tools], () => void reload());
  watching.follow(engine.sourceFiles(), performance.timeOrigin);
  return watching;
}

function nearest(folder: string): string {
  let at = folder;
  while (!existsSync(at) && path.dirname(at) !== at) at = path.dirname(at);
  return at;
}

/** Time of the last change of a place, or of the folder that it was removed from; 0 if neither exists. */
function changeMs(place: string): number {
  const there = statSync(place, { throwIfNoEntry: false }) ?? statSync(path.dirname(place), { throwIfNoEntry: false });
  return there?.ctimeMs ?? 0;
}

function inodeOf(folder: string): number | undefined {
  return statSync(folder, { throwIfNoEntry: false })?.ino;
}
