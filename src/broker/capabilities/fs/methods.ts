import type { JsonSchema } from "../../../base/json.ts";
import { accessPath, lstat, readdir, readFile, realpath, stat } from "./reading.ts";
import type { Visit } from "./visit.ts";
import { copyFile, mkdir, removeFolder, rename, rm, truncate, unlink, writeFile } from "./writing.ts";

/** One method: its arguments, what the system calls it in errors, and what does it. */
export interface FsMethod {
  readonly input: JsonSchema;
  readonly syscall: string;
  readonly isRead?: true;
  // Its schema says what it takes, and the broker checks arguments against that before anything is called.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly run: (visit: Visit, args: any) => Promise<unknown>;
}

const PATH = { type: "string" };
const FLAG = { type: "boolean" };
const COUNT = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
const DATA = {
  oneOf: ["text", "base64"].map((form) => ({
    type: "object",
    properties: { [form]: { type: "string" } },
    required: [form],
    additionalProperties: false,
  })),
};

/** What the capability can do. Beside what is here, Node's `fs` makes links and changes owners and modes: no tool does. */
export const METHODS: { readonly [name: string]: FsMethod } = {
  readFile: {
    input: takes({ path: PATH, encoding: { enum: ["utf8"] }, position: COUNT, length: COUNT }, ["path"]),
    syscall: "open",
    isRead: true,
    run: readFile,
  },
  writeFile: {
    input: takes({ path: PATH, data: DATA, flag: { enum: ["w", "wx", "a", "ax"] } }, ["path", "data"]),
    syscall: "open",
    run: writeFile,
  },
  copyFile: {
    input: takes({ path: PATH, to: PATH, exclusive: FLAG }, ["path", "to"]),
    syscall: "copyfile",
    run: copyFile,
  },
  truncate: { input: takes({ path: PATH, length: COUNT }, ["path"]), syscall: "open", run: truncate },
  readdir: { input: takes({ path: PATH, recursive: FLAG }, ["path"]), syscall: "scandir", isRead: true, run: readdir },
  stat: { input: takes({ path: PATH }, ["path"]), syscall: "stat", isRead: true, run: stat },
  lstat: { input: takes({ path: PATH }, ["path"]), syscall: "lstat", isRead: true, run: lstat },
  realpath: { input: takes({ path: PATH, missing: FLAG }, ["path"]), syscall: "realpath", isRead: true, run: realpath },
  access: {
    input: takes({ path: PATH, mode: { type: "integer", minimum: 0, maximum: 7 } }, ["path"]),
    syscall: "access",
    isRead: true,
    run: accessPath,
  },
  mkdir: { input: takes({ path: PATH, recursive: FLAG }, ["path"]), syscall: "mkdir", run: mkdir },
  rm: { input: takes({ path: PATH, recursive: FLAG, force: FLAG }, ["path"]), syscall: "rm", run: rm },
  rmdir: { input: takes({ path: PATH }, ["path"]), syscall: "rmdir", run: removeFolder },
  unlink: { input: takes({ path: PATH }, ["path"]), syscall: "unlink", run: unlink },
  rename: { input: takes({ path: PATH, to: PATH }, ["path", "to"]), syscall: "rename", run: rename },
};

function takes(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[]): JsonSchema {
  return { type: "object", properties, required, additionalProperties: false };
}
