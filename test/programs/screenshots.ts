/** Takes the pictures of the console in `docs/images`, of a server with real calls. Needs Chromium. */
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { createEngine, defineCapability, type Engine, type ToolDefinition } from "../../src/glovebox/index.ts";
import { createServer } from "../../src/server/http/server.ts";
import { launch, visit } from "../server/console/harness.ts";

const FOLDER = fileURLToPath(new URL("../../docs/images/", import.meta.url));
/** Pictures are parts of every clone. */
const BYTES_MAX = 60 * 1024;
const VIEWPORT = { width: 1440, height: 800 };
const TENANTS = ["acme", "globex", "initech"];

/** Pictures by name: an address of the console, and a text that is there when all of it is. */
const PICTURES = {
  "console-calls": ["#/calls?since=24h", "capability_denied"],
  "console-call": ["#/calls/order-61", "Computing, attempt 2"],
} as const;

const upstream = createHttpServer((_request, response) => setTimeout(() => response.end("[1.08, 0.86]"), 25));
await once(upstream.listen(0, "127.0.0.1"), "listening");
const rates = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;

const ORDER = `export default async ({ amount, isTracked }, { host }) => {
  const rates = await (await fetch("${rates}/rates")).json();
  const total = await host.tools.convert({ amount, rate: rates[0] });
  if (isTracked) await fetch("https://tracker.example/order").catch(() => null);
  await host.mail.send({ text: "Your order: " + total });
  return { total, currency: "EUR" };
};`;
const TOOLS: readonly ToolDefinition[] = [
  {
    name: "convert",
    description: "Converts an amount.",
    source: "export default ({ amount, rate }) => amount * rate;",
  },
  {
    name: "place_order",
    description: "Places an order and sends a mail.",
    source: ORDER,
    capabilities: {
      tools: ["convert"],
      mail: true,
      fetch: { origins: [rates, "https://tracker.example"] },
    },
  },
  {
    name: "read_page",
    description: "Reads a page.",
    source: 'export default () => fetch("http://10.0.0.7/").then((page) => page.text());',
  },
  {
    name: "parse_date",
    description: "Parses a date.",
    source: "export default ({ text }) => new Date(text).toISOString();",
  },
  {
    name: "sum_rows",
    description: "Adds up rows.",
    source: "export default () => { for (;;); };",
    limits: { cpuMs: 50 },
  },
];

let isArmed = false;
/** Ends the executors while the mail of the last order is sent. */
async function send(): Promise<string> {
  if (!isArmed) return "sent";
  isArmed = false;
  const lost = new Promise((resolve) => engine.on("executor:lost", resolve));
  for (const pid of engine.stats().executor.groups?.flatMap(({ pids }) => pids) ?? []) process.kill(pid, "SIGKILL");
  await lost;
  return "sent";
}

const engine: Engine = await createEngine({
  workers: 1,
  tools: TOOLS,
  capabilities: [defineCapability({ name: "mail", methods: { send: { handler: send } } })],
  policy: {
    rules: [
      {
        tools: ["place_order"],
        allow: { mail: true, tools: ["convert"], fetch: { origins: [], privateOrigins: [rates] } },
      },
    ],
  },
  calls: { path: ":memory:", keep: "everything" },
});
const server = await createServer(engine, { port: 0, drainMs: 0 });

for (let at = 1; at <= 61; at++) {
  isArmed = at === 61;
  const names = { 54: "read_page", 57: "sum_rows", 59: "parse_date" } as Readonly<Record<number, string>>;
  const name = names[at] ?? (at % 3 === 1 ? "place_order" : "convert");
  const args = { convert: { amount: at, rate: 1.08 }, parse_date: { text: "31.31.2026" } }[name];
  await engine.execute(
    { id: `order-${at}`, name, arguments: args ?? { amount: 20 * at, isTracked: isArmed } },
    { tenant: TENANTS[at % TENANTS.length] ?? "" },
  );
}

const browser = await launch();
for (const [name, [address, text]] of Object.entries(PICTURES)) {
  await using visited = await visit(browser, `${server.url}/${address}`, { viewport: VIEWPORT, colorScheme: "light" });
  const { page } = visited;
  await page.getByText(text).first().waitFor();
  // The pointer and the keyboard are nowhere.
  await page.mouse.move(0, 0);
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 80 });
  const picture = Buffer.from(data, "base64");
  if (picture.length > BYTES_MAX) throw new Error(`${name} has ${picture.length} bytes`);
  await writeFile(`${FOLDER}${name}.webp`, picture);
  console.log(`${name}.webp: ${picture.length} bytes`);
}
await browser.close();
await server.close();
upstream.close();
