import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";

/**
 * `npm run test:packages`: packages of npm, each in a small tool that does its main job. They are installed into a
 * temporary folder, without their scripts. Compares the outcomes with `outcomes.json`; `--write` writes them there.
 */

interface Job {
  readonly name: string;
  readonly version: string;
  /** Other packages that its tool imports, with their versions. */
  readonly beside?: { readonly [name: string]: string };
  readonly tool: readonly string[];
  /** The tool's output; or, of a package that no isolate can run, what its error says. */
  readonly expected: unknown;
}

/** Packages that must answer right, of all. */
const RIGHT_MIN = 170;
const JOBS = new URL("../../fixtures/programs/packages.json", import.meta.url);
const OUTCOMES = new URL("./outcomes.json", import.meta.url);
const METHODS = ["GET", "POST", "PUT"];
/** Answers of the server that the tools of clients call, by the beginning of the path; others say what was asked. */
const ANSWERS = new Map<string, unknown>([
  ["/gql", { data: { a: "x" } }],
  ["/tg", { ok: true, result: { id: 1, is_bot: true, first_name: "b", username: "bot" } }],
  ["/ddb", { TableNames: ["t"] }],
  ["/v0/b1/T/rec1", { id: "rec1", fields: {} }],
]);
const LIMITS = { cpuMs: 20_000, wallMs: 30_000, memoryMb: 256 };

async function install(jobs: readonly Job[], folder: string): Promise<void> {
  const dependencies = Object.fromEntries(
    jobs.flatMap(({ name, version, beside = {} }) => [[name, version], ...Object.entries(beside)]),
  );
  await writeFile(path.join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  // Of packages side by side, some want other versions of their peers than others.
  const args = ["install", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
  await promisify(execFile)("npm", args, { cwd: folder, timeout: 600_000 });
}

/** The server whose origin each tool gets. */
async function serve(): Promise<Server> {
  const server = createServer((request, response) => {
    const { method, url = "" } = request;
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      if (url.startsWith("/sse")) {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end("data: hello\n\n");
        return;
      }
      const known = [...ANSWERS].find(([start]) => url.startsWith(start))?.[1];
      const echo = { method, url, body, type: request.headers["content-type"] ?? null, id: "51", properties: {} };
      const times = { createdAt: "2024-01-01T00:00:00Z", updatedAt: "2024-01-01T00:00:00Z" };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(known ?? { ...echo, ...times }));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}

/** `right`, or why not. */
async function outcomeOf(
  engine: Engine,
  { name, tool, expected }: Job,
  folder: string,
  at: number,
  origin: string,
): Promise<string> {
  const entry = path.join(folder, `tool-${at}.mjs`);
  await writeFile(entry, tool.join("\n"));
  const wanted = (expected as { error?: unknown } | null)?.error;
  const judge = (message: string): string =>
    typeof wanted === "string" && message.includes(wanted) ? "right" : message.slice(0, 300);
  const capabilities = { fetch: { origins: [origin], methods: METHODS } };
  try {
    await engine.register({
      name: `package_${at}`,
      description: `A job of ${name}.`,
      entry,
      limits: LIMITS,
      capabilities,
    });
    const { output, error } = await engine.execute({ name: `package_${at}`, arguments: { origin } });
    if (error !== null) return judge(`${error.code}: ${error.message}`);
    return isDeepStrictEqual(output, expected) ? "right" : `answers ${JSON.stringify(output)}`.slice(0, 300);
  } catch (error) {
    return judge(error instanceof Error ? error.message : String(error));
  }
}

async function run(): Promise<{ readonly [name: string]: string }> {
  const jobs = JSON.parse(await readFile(JOBS, "utf8")) as readonly Job[];
  const folder = await mkdtemp(path.join(tmpdir(), "glovebox-packages-"));
  await using server = await serve();
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fetch = { origins: [origin], privateOrigins: [origin], methods: METHODS };
  const engine = await createEngine({ executor: "threads", workers: 1, policy: { rules: [{ allow: { fetch } }] } });
  const outcomes: { [name: string]: string } = {};
  try {
    await install(jobs, folder);
    for (const [at, job] of jobs.entries()) {
      outcomes[job.name] = await outcomeOf(engine, job, folder, at, origin);
      console.log(`${job.name} ${job.version}: ${outcomes[job.name] ?? ""}`);
    }
  } finally {
    await engine.close();
    await rm(folder, { recursive: true, force: true });
  }
  return outcomes;
}

const outcomes = await run();
const right = Object.values(outcomes).filter((outcome) => outcome === "right").length;
console.log(`${right} of ${Object.keys(outcomes).length} answer right`);
if (process.argv.includes("--write")) await writeFile(OUTCOMES, `${JSON.stringify(outcomes, null, 2)}\n`);
const known = JSON.parse(await readFile(OUTCOMES, "utf8")) as { readonly [name: string]: string };
const changed = Object.keys(outcomes).filter((name) => (outcomes[name] === "right") !== (known[name] === "right"));
if (changed.length > 0) console.log(`differ from outcomes.json: ${changed.join(", ")}`);
process.exitCode = right < RIGHT_MIN || changed.length > 0 ? 1 : 0;
