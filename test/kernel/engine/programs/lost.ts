import { writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { fleetStores } from "../../../../src/fleet/server/fleet-stores.ts";
import { defineCapability, type ToolDefinition } from "../../../../src/glovebox/index.ts";
import { startEngine } from "../../../../src/kernel/engine/engine.ts";
import { PLUGINS } from "../../../../src/standard/plugins.ts";
import { bodyWith, documentOf } from "../../../connectors/engine/api.ts";
import { LOST_ROWS, STOPPED_ROWS } from "../durable/lost-rows.ts";
import { placeOf } from "./calls-place.ts";

/*
 * A process with an engine over a place of calls, whose effects are requests to the server of a URL, and lines of files.
 * `begin PLACE FOLDER URL NAME…`: makes the calls of these rows, each of which stays at its point, and waits to be killed;
 * the result of one that ends all the same is said. `finish PLACE FOLDER URL`: goes on with all calls that are kept, says of
 * what is in doubt what their rows do, and says their ends.
 */

const [, , role = "", path = "", folder = "", url = "", ...names] = process.argv;
const rows = [...LOST_ROWS, ...STOPPED_ROWS];

interface Named {
  readonly row: string;
}

async function ask(method: string, { row }: Named, what: string, once?: string): Promise<string> {
  const headers = once === undefined ? {} : { "idempotency-key": once };
  return (await fetch(`${url}/${row}/${what}`, { method, headers })).text();
}

const ledger = defineCapability({
  name: "ledger",
  methods: {
    add: {
      handler: (args) => {
        const { what } = args as { readonly what: string };
        return ask("POST", args as Named, what);
      },
    },
    send: { isRepeatable: true, handler: (args, { once }) => ask("POST", args as Named, "asked", once) },
    read: { isRead: true, handler: (args) => ask("GET", args as Named, "asked") },
  },
});

/** One effect, what a row asks for, and another effect. */
const ORDER = `
const asks = {
  get: async ({ at }) => (await fetch(at)).text(),
  post: async ({ at }) => {
    const response = await fetch(at, { method: "POST" });
    return [response.status, await response.text()];
  },
  read: ({ row, host }) => host.ledger.read({ row }),
  add: ({ row, host }) => host.ledger.add({ row, what: "asked" }),
  send: ({ row, host }) => host.ledger.send({ row }),
  set: async ({ row, host }) => [await host.kv.set(row, "a"), await host.kv.entry(row)],
  delete: async ({ row, host }) => [await host.kv.set(row, "a"), await host.kv.delete(row), await host.kv.get(row)],
  exec: async ({ row, host }) => (await host.exec.run({ command: "echo a line of a file >>/data/" + row + "; printf ran" })).stdout,
  write: async ({ row, host }) => {
    await host.fs.appendFile("/data/" + row, "a line of a file\\n");
    return "written";
  },
  signal: ({ host }) => host.pause.signal({ name: "go" }),
};
export default async ({ row, asks: asked, url }, { host }) => {
  await host.ledger.add({ row, what: "first" });
  const answer = Object.hasOwn(asks, asked)
    ? await asks[asked]({ row, host, at: url + "/" + row + "/asked" })
    : await host.tools[asked]({ row, ...(asked.startsWith("crm.") && asked !== "crm.delete_order" && { body: {} }) });
  await host.ledger.add({ row, what: "last" });
  return answer;
};`;
const ADD = `export default ({ row }, { host }) => host.ledger.add({ row, what: "asked" });`;
const WAITING = { ledger: true, pause: true } as const;
const WAITS = `export default async ({ row }, { host }) => {
  await host.ledger.add({ row, what: "begun" });
  await host.pause.signal({ name: "go" });
  return host.ledger.send({ row });
};`;
const limits = { wallMs: 300_000 };

const tools: readonly ToolDefinition[] = [
  {
    name: "order",
    description: "Does one thing, what it is asked for, and another thing.",
    limits,
    capabilities: {
      exec: true,
      kv: true,
      ledger: true,
      pause: true,
      tools: ["*"],
      fetch: { origins: [url], methods: ["GET", "POST"] },
      fs: { data: { mode: "rw" } },
    },
    source: ORDER,
  },
  { name: "second", description: "Has an effect.", limits, capabilities: { ledger: true }, source: ADD },
  {
    name: "careful",
    description: "Looks before it has an effect.",
    limits,
    capabilities: { ledger: true },
    source: `export default async ({ row }, { host }) => {
      await host.ledger.read({ row });
      return host.ledger.add({ row, what: "asked" });
    };`,
  },
  {
    name: "again",
    description: "Does no harm twice.",
    annotations: { idempotent: true },
    limits,
    capabilities: { ledger: true },
    source: ADD,
  },
  {
    name: "looks",
    description: "Only looks.",
    annotations: { readOnly: true },
    limits,
    capabilities: { ledger: true },
    source: ADD,
  },
  {
    name: "pure",
    description: "Has no effects.",
    source: `export default () => "${role === "begin" ? "old" : "new"}";`,
  },
  { name: "waits", description: "Waits between two effects.", limits, capabilities: WAITING, source: WAITS },
  { name: "resumes", description: "Goes on once it has waited.", limits, capabilities: WAITING, source: WAITS },
  { name: "binary", description: "Runs a binary.", runtime: "native", entry: "/bin/true" },
];

const KEY = { name: "Idempotency-Key", in: "header", schema: { type: "string" } };
const ROW = { name: "row", in: "path", required: true, schema: { type: "string" } };
const API = documentOf([
  ["POST", "/{row}/asked", "create_order", { parameters: [ROW, KEY], ...bodyWith({}) }],
  ["PUT", "/{row}/asked", "put_order", bodyWith({})],
  ["DELETE", "/{row}/asked", "delete_order"],
  ["POST", "/{row}/mailed", "send_mail", bodyWith({})],
]);
const document = `${folder}/api.json`;
writeFileSync(document, JSON.stringify(API));

/** The store in which calls stay where their processes are to be killed. */
const held = {
  name: "held",
  stores: {
    ...fleetStores,
    calls: {
      module: new URL("lost-calls.ts", import.meta.url),
      maxBytes: 64 * 1024 ** 2,
      resolve: () => placeOf(path),
      load: () => Promise.resolve(),
    },
  },
};

await using engine = await startEngine({
  workers: 1,
  plugins: [...PLUGINS.filter(({ name }) => name !== "fleet"), held],
  capabilities: [ledger],
  calls: role === "begin" ? { url: "held://" } : placeOf(path),
  connectors: { crm: { openapi: { document, server: url } } },
  kv: { path: `${folder}/kv.sqlite` },
  maxLimits: limits,
  policy: {
    rules: [
      {
        allow: {
          connector: ["*"],
          kv: true,
          ledger: true,
          native: true,
          pause: true,
          tools: ["*"],
          exec: { mounts: { "/data": { path: folder, mode: "rw" } } },
          fetch: { origins: [], privateOrigins: [url] },
          fs: { data: { path: folder, mode: "rw" } },
        },
      },
    ],
  },
  tools,
});
const { durable } = engine.calls;

if (role === "begin") {
  // A call below another goes on where it has waited.
  engine.on("call:pause", ({ id, tool }) => {
    if (tool === "resumes") void durable.signal(id, "go");
  });
  for (const { name, tool = "order", asks, isPlain } of rows.filter((row) => names.includes(row.name))) {
    const args = tool === "order" ? { row: name, asks, url } : tool === "binary" ? {} : { row: name, body: {} };
    // Versions are numbers of a tenant's entries.
    const tenant = asks === "set" || asks === "delete" ? { tenant: name } : {};
    const options = { ...tenant, durable: isPlain !== true };
    void engine.execute({ id: name, name: tool, arguments: args }, options).then(({ output, error }) => {
      if (error?.code !== "paused") console.log(JSON.stringify({ ended: name, output, error }));
    });
  }
  await new Promise(() => setInterval(() => undefined, 1_000));
} else {
  const doubts = new Map<string, string>();
  for (let isOver = false; !isOver; await delay(100)) {
    const { calls } = await durable.list({ limit: 100 });
    isOver = calls.every(({ state }) => state === "ended");
    for (const { id, callId, state, waits } of calls) {
      const open = waits.filter((wait) => wait.state === "open");
      if (state === "paused" && open.some(({ kind }) => kind === "signal")) await durable.signal(id, "go", "came");
      if (state !== "in_doubt") continue;
      for (const wait of open) if (wait.kind === "outcome") doubts.set(callId, wait.asked);
      const decision = rows.find(({ name }) => name === callId)?.doubt?.decision;
      if (decision === undefined) throw new Error(`nobody can say what became of ${callId}`);
      await durable.decide(id, decision);
    }
  }
  const { calls } = await durable.list({ limit: 100 });
  const ends = calls.map(async ({ id, callId }) => {
    const { output, error } = (await durable.result(id)) ?? {};
    return { name: callId, doubt: doubts.get(callId), output, error };
  });
  console.log(JSON.stringify(await Promise.all(ends)));
}
