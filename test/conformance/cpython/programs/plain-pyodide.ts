/** Runs tests in Pyodide as it comes, in a process of their own: the job is on stdin, and lines of JSON go to stdout. */

import { existsSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { loadPyodide } from "pyodide";
import type { PyDict } from "pyodide/ffi";

export interface PlainJob {
  readonly module: string;
  readonly without: readonly string[];
  /** Files of the folder `/tool`, in Base64. */
  readonly files: Readonly<Record<string, string>>;
  /** A file in which the interpreter's memory is kept after its first start. */
  readonly memory: string;
}

const job = JSON.parse(readFileSync(0, "utf8")) as PlainJob;
const silent = (): void => undefined;
const options = { env: { HOME: "/tmp", LANG: "C.UTF-8" }, stdin: () => null, stdout: silent, stderr: silent };
const say = (line: object): number => writeSync(1, `${JSON.stringify(line)}\n`);

if (!existsSync(job.memory)) {
  const first = await loadPyodide({ ...options, _makeSnapshot: true });
  writeFileSync(`${job.memory}.${process.pid}`, first.makeMemorySnapshot());
  renameSync(`${job.memory}.${process.pid}`, job.memory);
}
const python = await loadPyodide({ ...options, _loadSnapshot: readFileSync(job.memory) });
for (const [name, content] of Object.entries(job.files)) {
  const path = `/tool/${name}`;
  python.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
  python.FS.writeFile(path, Buffer.from(content, "base64"));
}
const names = { began: (last: string) => say({ last }), job: JSON.stringify([`test.${job.module}`, job.without]) };
const verdicts: unknown = await python.runPythonAsync(
  `
import json, sys
sys.path.insert(0, "/tool")
from collect import collect
json.dumps(collect(*json.loads(job), began))
`,
  { globals: python.toPy(names) as PyDict },
);
say({ verdicts: JSON.parse(String(verdicts)) as object });
process.exit(0);
