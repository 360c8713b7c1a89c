/** Faults at which a start ends: what it prints, and its exit code. */
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { createKey } from "../../src/server/access/secret.ts";
import { connectTo, freePort, startRedis } from "../redis-server.ts";
import type { StartFault, StartFolder } from "./fault.ts";

const GOOD = "tools: [./tools]\nport: 0\nworkers: 1\n";

/** A start with this text in the configuration, besides what it takes to be well. */
function configured(name: string, what: string, text: string, says: RegExp, exit = 2): StartFault {
  return {
    name,
    place: "start",
    what,
    prepare: async (folder) => {
      folder.write("glovebox.config.yaml", GOOD + text);
      return { args: [] };
    },
    sees: { exit, says },
  };
}

/** A start of a server of a fleet whose Redis has something about it. */
function ofFleet(
  name: string,
  what: string,
  urlOf: (folder: StartFolder) => Promise<string>,
  sees: StartFault["sees"],
): StartFault {
  return {
    name,
    place: "start",
    what,
    needs: ["redis"],
    prepare: async (folder) => {
      const url = await urlOf(folder);
      folder.write("glovebox.config.yaml", `${GOOD}executor: { kind: queue, url: "${url}", lostMs: 2000 }\n`);
      return { args: [] };
    },
    sees,
  };
}

const SECRET = "a secret of this fleet";

const OF_CONFIGURATION: readonly StartFault[] = [
  configured(
    "configuration-broken",
    "The configuration is not YAML.",
    "limits: { cpuMs: 5\n",
    /glovebox.config.yaml:\d+/,
  ),
  configured("setting-unknown", "A setting is misspelt.", "limtis: { cpuMs: 5 }\n", /limtis.*limits/s),
  {
    name: "configuration-missing",
    place: "start",
    what: "`--config` names a file that is not there.",
    prepare: async () => ({ args: ["--config", "nothing.yaml"] }),
    sees: { exit: 2, says: /nothing\.yaml/ },
  },
  configured(
    "policy-bad",
    "A rule of the policy grants something that there is not.",
    "policy: { rules: [{ allow: { env: 5 } }] }\n",
    /policy\.rules\[0\]\.allow\.env/,
  ),
  {
    name: "tool-missing",
    place: "start",
    what: "A tool's file is not there.",
    prepare: async (folder) => {
      folder.write("glovebox.config.yaml", GOOD.replace("./tools", "./nothing.js"));
      return { args: [] };
    },
    sees: { exit: 3, says: /nothing\.js/ },
  },
  configured(
    "key-file-missing",
    "The file of a key is not there.",
    "keys: [{ name: a, file: ./nothing.key, tenant: null, roles: [execute] }]\n",
    /nothing\.key/,
  ),
  configured(
    "key-file-unreadable",
    "The file of a key is a folder.",
    "keys: [{ name: a, file: ./tools, tenant: null, roles: [execute] }]\n",
    /tools/,
  ),
  configured(
    "key-file-garbage",
    "The file of a key has something else in it.",
    "keys: [{ name: a, file: ./tools/add.js, tenant: null, roles: [execute] }]\n",
    /keys\/0/,
  ),
  configured(
    "secret-missing",
    "The variable of a secret is not set.",
    "secrets: { API: { env: NOT_SET_ANYWHERE, bind: [{ origin: 'https://api.example.com' }] } }\n",
    /NOT_SET_ANYWHERE/,
  ),
  configured(
    "address-of-others",
    "The address to listen on is no address of this machine.",
    `host: 192.0.2.1\nkeys: [{ name: a, hash: "${createKey().hash}", tenant: null, roles: [execute] }]\n`,
    /cannot listen on 192\.0\.2\.1.*EADDRNOTAVAIL/,
  ),
];

const OF_MACHINE: readonly StartFault[] = [
  {
    name: "tool-broken",
    place: "start",
    what: "A tool's file is no JavaScript.",
    prepare: async (folder) => {
      folder.write("glovebox.config.yaml", GOOD);
      folder.write("tools/broken.js", "export default (");
      return { args: [] };
    },
    sees: { exit: 3, says: /broken\.js/ },
  },
  {
    name: "port-in-use",
    place: "start",
    what: "Another program listens on the port.",
    prepare: async (folder) => {
      const taken = createServer().listen(await freePort(), "127.0.0.1");
      await once(taken, "listening");
      folder.owned.defer(() => void taken.close());
      const address = taken.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      folder.write("glovebox.config.yaml", GOOD.replace("port: 0", `port: ${port}`));
      return { args: [] };
    },
    sees: { exit: 2, says: /cannot listen on 127\.0\.0\.1, port \d+: EADDRINUSE/ },
  },
  {
    name: "sandbox-missing",
    place: "start",
    what: "A sandbox is required, and bubblewrap is not installed.",
    prepare: async (folder) => {
      folder.write("glovebox.config.yaml", `${GOOD}executor: { kind: process, sandbox: require }\n`);
      return { args: [], env: { PATH: join(folder.path, "tools") } };
    },
    sees: { exit: 1, says: /the required sandbox does not work here: bubblewrap is not installed/ },
  },
  {
    name: "processes-refused",
    place: "start",
    what: "The user may have no more processes and threads (`RLIMIT_NPROC`).",
    needs: ["root"],
    prepare: async (folder) => {
      folder.write("glovebox.config.yaml", GOOD);
      return { args: [], within: ["setpriv", "--reuid", "61999", "--clear-groups", "prlimit", "--nproc=16:16"] };
    },
    sees: { exit: 1, says: /^glovebox: .*(?:EAGAIN|temporarily unavailable)/m },
  },
];

const OF_FLEETS: readonly StartFault[] = [
  ofFleet(
    "redis-nowhere",
    "Nothing listens where the fleet's Redis is to be.",
    async () => `redis://127.0.0.1:${await freePort()}`,
    { exit: 4, says: /ECONNREFUSED/ },
  ),
  ofFleet(
    "redis-password-wrong",
    "The password of the fleet's Redis is wrong.",
    async ({ owned }) => {
      const redis = owned.use(await startRedis());
      await using admin = await connectTo(redis.url);
      await admin.client.config("SET", "requirepass", "another");
      return redis.url.replace("//", "//:wrong-one@");
    },
    { exit: 2, says: /refused the login \(WRONGPASS\)/ },
  ),
  ofFleet(
    "redis-permission-missing",
    "The user of Redis may not use the commands of a fleet.",
    async ({ owned }) => {
      const redis = owned.use(await startRedis());
      await using admin = await connectTo(redis.url);
      await admin.client.acl("SETUSER", "weak", "on", ">weak-one", "+info");
      return redis.url.replace("//", "//weak:weak-one@");
    },
    { exit: 2, says: /does not permit/ },
  ),
  ofFleet(
    "redis-single-as-cluster",
    "The URL calls a single Redis a cluster.",
    async ({ owned }) => owned.use(await startRedis()).url.replace("redis:", "redis+cluster:"),
    { exit: 2, says: /cluster/ },
  ),
  ofFleet(
    "redis-cluster-down",
    "The fleet's Redis is a node of a cluster that is not complete.",
    async ({ owned }) =>
      owned.use(await startRedis({ args: ["--cluster-enabled", "yes", "--cluster-port", `${await freePort()}`] })).url,
    { exit: 4, says: /CLUSTERDOWN/ },
  ),
  ofFleet(
    "redis-not-redis",
    "Something else listens where the fleet's Redis is to be.",
    async ({ owned }) => {
      const other = createServer((socket) => {
        socket.on("error", () => undefined);
        socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
      }).listen(0, "127.0.0.1");
      await once(other, "listening");
      owned.defer(() => void other.close());
      const address = other.address();
      return `redis://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
    },
    { exit: 4, says: /Redis/ },
  ),
  ofFleet(
    "machines-missing",
    "No worker machine of the fleet runs.",
    async ({ owned }) => owned.use(await startRedis()).url,
    {
      exit: 1,
      says: /^glovebox: .*no worker machine/m,
    },
  ),
  {
    name: "fleet-secret-short",
    place: "start",
    what: "The fleet's secret is too short.",
    prepare: async (folder) => {
      folder.write("glovebox.config.yaml", `${GOOD}executor: { kind: queue, url: "redis://127.0.0.1:1" }\n`);
      return { args: [], env: { GLOVEBOX_FLEET_SECRET: SECRET.slice(0, 8) } };
    },
    sees: { exit: 2, says: /at least 16/ },
  },
];

export const START_FAULTS: readonly StartFault[] = [...OF_CONFIGURATION, ...OF_MACHINE, ...OF_FLEETS];
