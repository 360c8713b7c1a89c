// needs: prometheus
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { createKey } from "../../../../src/server/access/secret.ts";
import { createEngine, ERRORS } from "../../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../../src/server/http/server.ts";
import { type Prometheus, startPrometheus } from "../../../prometheus.ts";
import { fleetMetrics, seriesOf } from "../../../server/deploy/fleet-files.ts";
import { metricsIn, promtool, rulesOf } from "./promtool.ts";

const DEPLOY = fileURLToPath(new URL("../../../../fixtures/deploy", import.meta.url));
const WATCH_KEY = createKey().secret;
const CALL_KEY = createKey().secret;
/** V8 cannot interrupt it, so that its executor is ended and the tool goes into quarantine. */
const WEDGE = "export default () => { for (;;) [].indexOf.call({ length: 2 ** 53 - 1 }, 1); }";

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly targets?: readonly { readonly expr: string; readonly refId: string }[];
}

function read(name: string): string {
  return readFileSync(join(DEPLOY, name), "utf8");
}

const recorded = rulesOf("rules");
const alerts = rulesOf("alerts");
const dashboard = JSON.parse(read("grafana/glovebox.json")) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
};
const charts = dashboard.panels.filter(({ type }) => type !== "row");
const queries = charts.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));

/** A query as Grafana sends it. */
function filledIn(expr: string): string {
  return expr.replaceAll("$__rate_interval", "1m").replaceAll(/\$(?:job|instance|tool)\b/g, ".*");
}

let folder = "";
let server: Server;
let url = "";

async function execute(name: string, args: unknown): Promise<void> {
  const body = JSON.stringify({ name, arguments: args });
  const headers = { "content-type": "application/json", authorization: `Bearer ${CALL_KEY}` };
  const response = await fetch(`${url}/v1/execute`, { method: "POST", headers, body });
  await response.arrayBuffer();
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-prometheus-"));
  cpSync(join(DEPLOY, "prometheus"), folder, { recursive: true });
  const keys = { watch: join(folder, "glovebox.key"), call: join(folder, "call.key") };
  writeFileSync(keys.watch, `${WATCH_KEY}\n`);
  writeFileSync(keys.call, `${CALL_KEY}\n`);
  const engine = await createEngine({
    workers: 1,
    executor: { kind: "process", spare: false },
    tools: [
      { name: "add", description: "d", source: "export default ({ a, b }) => a + b;" },
      { name: "look", description: "d", source: "export default (i, { host }) => host.vault.look();" },
      { name: "wedge", description: "d", source: WEDGE, limits: { cpuMs: 20 } },
    ],
  });
  server = await createServer(engine, {
    port: 0,
    keys: [
      { name: "prometheus", file: keys.watch, tenant: null, roles: ["metrics"] },
      { name: "agent", file: keys.call, tenant: "acme", roles: ["execute"] },
    ],
  });
  url = server.url;
  await execute("add", { a: 1, b: 2 });
  await execute("look", {});
  await execute("wedge", {});
});

afterAll(async () => {
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("the rules", () => {
  test("are what promtool takes, and so is the configuration that names them", async () => {
    const { code, said } = await promtool(["check", "config", join(folder, "prometheus.yml")]);
    expect(said).toContain(`${alerts.length} rules found`);
    expect(code).toBe(0);
  });

  test("do in their own tests what these expect", async () => {
    const { code, said } = await promtool(["test", "rules", join(folder, "alerts.test.yaml")]);
    expect(said).toContain("SUCCESS");
    expect(code).toBe(0);
  });

  test("that alert each have a test in which they do", () => {
    interface Tested {
      readonly alertname: string;
      readonly exp_alerts: readonly unknown[];
    }
    const { tests } = parse(read("prometheus/alerts.test.yaml")) as {
      tests: readonly { alert_rule_test?: readonly Tested[] }[];
    };
    const tried = tests.flatMap(({ alert_rule_test: all = [] }) => all).filter(({ exp_alerts: all }) => all.length > 0);
    expect([...new Set(tried.map(({ alertname }) => alertname))].toSorted()).toEqual(
      alerts.map(({ alert = "" }) => alert).toSorted(),
    );
  });

  test("blame the service, and tools, for what the table of errors blames them for", () => {
    const codes = Object.entries(ERRORS);
    const service = codes.filter(
      ([, { blame, retryable, http }]) => blame === "engine" || (blame === "operator" && retryable && http !== 200),
    );
    const tool = codes.filter(([, { blame }]) => blame === "tool");
    const inRules = recorded.flatMap(({ record = "", expr }) => {
      const [, list] = /code=~"([^"]+)"/.exec(expr) ?? [];
      return list === undefined ? [] : [[record.split(":")[1], list.split("|").toSorted().join()]];
    });
    expect(new Set(inRules.map(([name]) => name))).toEqual(new Set(["glovebox_failures", "glovebox_tool_failures"]));
    for (const [name, list] of inRules) {
      const meant = name === "glovebox_failures" ? service : tool;
      expect(list).toBe(
        meant
          .map(([code]) => code)
          .toSorted()
          .join(),
      );
    }
  });
});

describe("the dashboard", () => {
  test("has queries that Prometheus understands", async () => {
    const rules = queries.map(({ expr }, index) => ({ record: `query_${index}`, expr: filledIn(expr) }));
    const file = join(folder, "dashboard.yaml");
    writeFileSync(file, stringify({ groups: [{ name: "dashboard", rules }] }));
    const { code, said } = await promtool(["check", "rules", file]);
    expect(said).toContain(`${queries.length} rules found`);
    expect(code).toBe(0);
  });

  test("has panels with a number, a place, a title and a data source of their own", () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    expect(new Set(dashboard.panels.map(({ title }) => title)).size).toBe(dashboard.panels.length);
    for (const { title, datasource, targets = [], gridPos } of charts) {
      expect(datasource?.uid, title).toBe("${datasource}");
      expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length);
      expect(targets.length, title).toBeGreaterThan(0);
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
    }
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)}/${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  test("asks for no variable that it has not", () => {
    const names = new Set(dashboard.templating.list.map(({ name }) => name));
    const asked = queries.flatMap(({ expr }) => [...expr.matchAll(/\$(\w+)/g)].map(([, name = ""]) => name));
    expect([...new Set(asked)].filter((name) => name !== "__rate_interval" && !names.has(name))).toEqual([]);
    expect(names).toContain("datasource");
  });
});

test("rules and dashboard speak of metrics that a scrape shows, and of all of ours", async () => {
  const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${WATCH_KEY}` } })).text();
  expect(text).toMatch(/^glovebox_key_calls_total\{key="agent",code="ok"\} 1$/m);
  expect(await promtool(["check", "metrics"], text)).toEqual({ code: 0, said: "" });
  const types = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = "", type = ""]) => ({ name, type }));
  expect(fleetMetrics.length).toBeGreaterThan(10);
  expect(types.filter(({ name }) => fleetMetrics.some((one) => one.name === name))).toEqual([]);
  const series = [...types, ...fleetMetrics].flatMap(seriesOf);
  const shown = new Set([...series, ...recorded.map(({ record = "" }) => record), "up"]);
  const asked = [...recorded, ...alerts, ...queries].flatMap(({ expr }) => metricsIn(expr));
  expect(asked.length).toBeGreaterThan(90);
  expect([...new Set(asked)].filter((name) => !shown.has(name))).toEqual([]);
  const onDashboard = new Set(queries.flatMap(({ expr }) => metricsIn(expr)));
  const missing = [...types, ...fleetMetrics]
    .filter(({ name }) => name.startsWith("glovebox_"))
    .map(({ name }) => name);
  expect(missing.filter((name) => ![name, `${name}_bucket`].some((one) => onDashboard.has(one)))).toEqual([]);
});

describe("a Prometheus", () => {
  let prometheus: Prometheus;

  beforeAll(async () => {
    // The files as they are, but for where the server is, and for how long a test can wait.
    const config = read("prometheus/prometheus.yml")
      .replaceAll("15s", "1s")
      .replace("127.0.0.1:8080", new URL(url).host);
    writeFileSync(join(folder, "prometheus.yml"), config);
    prometheus = await startPrometheus(folder);
  });

  afterAll(() => prometheus?.[Symbol.asyncDispose]());

  test("scrapes a server with the key from its file", async () => {
    await expect
      .poll(() => prometheus.query('up{job="glovebox"}'), { timeout: 120_000, interval: 200 })
      .toMatchObject([{ value: "1" }]);
    expect(await prometheus.query('glovebox_calls_total{tool="add",code="ok"}')).toMatchObject([{ value: "1" }]);
    // Prometheus prefers OpenMetrics, which alone has times of creation.
    expect(await prometheus.query('glovebox_calls_created{tool="add",code="ok"}')).toHaveLength(1);
    interface Target {
      readonly scrapePool: string;
      readonly lastError: string;
    }
    const { activeTargets } = await prometheus.ask<{ activeTargets: readonly Target[] }>("targets");
    const servers = activeTargets.filter(({ scrapePool }) => scrapePool === "glovebox");
    expect(servers).toMatchObject([{ health: "up", lastError: "" }]);
  });

  test("evaluates all rules without an error, and one of the alerts fires", async () => {
    interface Evaluated {
      readonly name: string;
      readonly health: string;
      readonly lastError?: string;
    }
    const all = async (): Promise<readonly Evaluated[]> => {
      const { groups } = await prometheus.ask<{ groups: readonly { rules: readonly Evaluated[] }[] }>("rules");
      return groups.flatMap(({ rules }) => rules);
    };
    await expect
      .poll(async () => (await all()).filter(({ health }) => health === "unknown").length, { timeout: 120_000 })
      .toBe(0);
    const evaluated = await all();
    expect(evaluated.length).toBe(recorded.length + alerts.length);
    expect(evaluated.filter(({ health }) => health !== "ok")).toEqual([]);
    await expect
      .poll(() => prometheus.query('ALERTS{alertname="GloveboxToolQuarantined",alertstate="firing"}'), {
        timeout: 120_000,
      })
      .toMatchObject([{ metric: { severity: "ticket", job: "glovebox" } }]);
  });

  test("answers each query of the dashboard", async () => {
    for (const { title, expr } of queries) {
      const answer = await fetch(`${prometheus.url}/api/v1/query?query=${encodeURIComponent(filledIn(expr))}`);
      expect([title, ((await answer.json()) as { status: string }).status]).toEqual([title, "success"]);
    }
  });
});
