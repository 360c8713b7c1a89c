import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import path from "node:path";
import { isUrl } from "../../tool/package/location.ts";

/** Time without changes before a report: editors write a file in several steps, deployments write many files. */
const QUIET_MS = 300;

/** Reports changes at these places, once no more follow. */
export async function watchPlaces(places: readonly string[], onChange: () => void): Promise<Disposable> {
  let timer: NodeJS.Timeout | undefined;
  const changed = (): void => {
    clearTimeout(timer);
    timer = setTimeout(onChange, QUIET_MS);
  };
  const watchers: FSWatcher[] = [];
  for (const place of places.filter((one) => !isUrl(one))) watchers.push(...(await watchPlace(place, changed)));
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}

/** Watches a file through its folder, as editors and deployments replace files. */
async function watchPlace(place: string, onChange: () => void): Promise<readonly FSWatcher[]> {
  const found = await stat(place).catch(() => null);
  if (found === null) return [];
  const name = path.basename(place);
  const watcher = found.isDirectory()
    ? watch(place, { recursive: true }, onChange)
    : watch(path.dirname(place), (_event, changed) => {
        if (changed === name) onChange();
      });
  // A place that can no longer be watched is read again at the next SIGHUP.
  return [watcher.on("error", () => watcher.close())];
}
