/** The last engine that closes ends the build processes: here all engines of a test process use the same ones. */
import { Builds, builds } from "../src/kernel/tool/build/builds.ts";

process.once("exit", endBuilds);
builds.stop = () => undefined;

/** The next build starts a process. */
export function endBuilds(): void {
  Builds.prototype.stop.call(builds);
}
