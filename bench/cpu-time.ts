import { readdirSync, readFileSync } from "node:fs";

/**
 * Processor time of this process and all its descendants, in microseconds; `null` where the system does not tell
 * (anywhere but Linux). It is the steadiest figure of all on a machine that does other work too.
 */
export function cpuTimeUs(): number | null {
  try {
    return cpuTimeNs(String(process.pid)) / 1e3;
  } catch {
    return null;
  }
}

/** The threads' own accounts: those of a whole process are kept in hundredths of a second, which is too coarse. */
function cpuTimeNs(pid: string): number {
  let ns = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${thread}`;
    ns += Number.parseInt(readFileSync(`${folder}/schedstat`, "utf8"), 10);
    const children = readFileSync(`${folder}/children`, "utf8").trim();
    if (children !== "") for (const child of children.split(" ")) ns += cpuTimeNs(child);
  }
  return ns;
}
