import type { NodeModule } from "./inner/library.ts";
import { os as constants } from "./tables.ts";

/** The global `navigator`, with such values too. */
export const navigator: NodeModule = {
  hardwareConcurrency: 1,
  language: "en-US",
  languages: Object.freeze(["en-US"]),
  platform: "linux",
  userAgent: "Node.js/24",
};

/** `node:os`: fixed values, which reveal nothing about the host. */
export const shared: NodeModule = {
  EOL: "\n",
  devNull: "/dev/null",
  constants,
  arch: () => "x64",
  platform: () => "linux",
  type: () => "Linux",
  release: () => "0.0.0",
  version: () => "",
  machine: () => "x86_64",
  hostname: () => "localhost",
  homedir: () => "/",
  tmpdir: () => "/tmp",
  endianness: () => "LE",
  uptime: () => 0,
  loadavg: () => [0, 0, 0],
  totalmem: () => 0,
  freemem: () => 0,
  availableParallelism: () => 1,
  cpus: () => [],
  networkInterfaces: () => ({}),
  userInfo: () => ({ username: "tool", uid: -1, gid: -1, shell: null, homedir: "/" }),
  getPriority: () => 0,
};
