import { enableCompileCache } from "node:module";
import path from "node:path";
import { cacheHome, makeOwn } from "../kernel/base/os/own-folder.ts";

/**
 * Caches the command's compiled code between runs: without it, V8 takes half of the load time of its modules. Loaded
 * before all other modules, and only by the published command: an embedder decides for its own process.
 *
 * The folder's content is executed, so it is the user's own, and no process of a tool knows its path. Off if it cannot
 * be written; `NODE_COMPILE_CACHE` and `NODE_DISABLE_COMPILE_CACHE` take precedence.
 */
try {
  const folder = path.join(cacheHome(), "glovebox-code");
  if (process.env["NODE_COMPILE_CACHE"] === undefined && makeOwn(folder)) enableCompileCache(folder);
} catch {
  // The user has no home, or it is read-only.
}
