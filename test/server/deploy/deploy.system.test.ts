import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import manifest from "../../../package.json" with { type: "json" };
import { readConfiguration } from "../../../src/server/config/configuration.ts";
import { readEnvironment } from "../../../src/server/config/environment.ts";
import type { ToolResult } from "../../../src/glovebox/index.ts";
import { descendants } from "../../processes.ts";
import { said, serve } from "../served.ts";

const DEPLOY = fileURLToPath(new URL("../../../fixtures/deploy", import.meta.url));
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const ANALYZE = "/usr/bin/systemd-analyze";
const BUBBLEWRAP = "/usr/bin/bwrap";
const UID = 10_001;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-deploy-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

const read = (name: string): string => readFileSync(join(DEPLOY, name), "utf8");

interface Ended {
  readonly code: number;
  readonly output: string;
}

function run(file: string, ...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(file, args, { timeout: 120_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr });
    });
  });
}

describe("the units for systemd", () => {
  /** `[name, value]` of each line that says something. */
  const settings = (name: string): readonly (readonly [string, string])[] =>
    [...read(name).matchAll(/^(\w+)=(.*)$/gm)].map(([, key = "", value = ""]) => [key, value] as const);

  test("let the service have what it needs, and no more walls than executors can stand inside of", () => {
    const said = new Map(settings("glovebox.service"));
    for (const name of ["DynamicUser", "NoNewPrivileges", "PrivateTmp", "ProtectHome"])
      expect(said.get(name)).toBe("yes");
    expect(said.get("ProtectSystem")).toBe("strict");
    expect(said.get("RestrictNamespaces")?.split(" ")).toEqual(expect.arrayContaining(["user", "pid", "net", "mnt"]));
    for (const name of [
      "MemoryDenyWriteExecute",
      "ProtectKernelTunables",
      "ProtectKernelLogs",
      "ProtectProc",
      "ProcSubset",
    ]) {
      expect(said.has(name), name).toBe(false);
    }
    expect(said.has("ProtectHostname")).toBe(false);
    const limited = new Map(settings("glovebox.service.d/cgroup.conf"));
    expect(limited.get("DelegateSubgroup")).toBe("host");
    expect(limited.get("Delegate")?.split(" ")).toEqual(expect.arrayContaining(["memory", "pids"]));
    expect(limited.get("ProtectControlGroups")).toBe("no");
  });

  test("wait longer than the service drains", async () => {
    const { values } = await readConfiguration(join(DEPLOY, "glovebox.config.yaml"));
    const waitMs = Number(new Map(settings("glovebox.service")).get("TimeoutStopSec")) * 1_000;
    expect(waitMs).toBeGreaterThan((values.drainMs ?? 0) + (values.drainDelayMs ?? 0) + 5_000);
  });

  test("name settings that there are", () => {
    const environment = settings("glovebox.service").filter(([key]) => key === "Environment");
    const variables = Object.fromEntries(environment.map(([, value]) => value.split("=", 2) as [string, string]));
    expect(readEnvironment(variables)).toMatchObject([{ path: ["stateDir"], value: "%S/glovebox" }]);
  });

  test.skipIf(!existsSync(ANALYZE))("are what systemd understands, and leave little open", async () => {
    // The command need not be installed here.
    writeFileSync(
      join(folder, "glovebox.service"),
      read("glovebox.service").replace("/usr/local/bin/glovebox", "/bin/sh"),
    );
    writeFileSync(join(folder, "glovebox.socket"), read("glovebox.socket"));
    const units = ["glovebox.service", "glovebox.socket"].map((name) => join(folder, name));
    expect(await run(ANALYZE, "verify", "--man=no", ...units)).toEqual({ code: 0, output: "" });
    const exposure = await run(ANALYZE, "security", "--offline=true", "--no-pager", "--threshold=40", units[0] ?? "");
    expect(exposure).toMatchObject({ code: 0 });
  });
});

describe("the container's image", () => {
  /** Its instructions, with continued lines as one. */
  const instructions = read("Dockerfile")
    .replaceAll(/\\\n\s*/g, " ")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.trim());
  const last = instructions.slice(instructions.findLastIndex((line) => line.startsWith("FROM ")));

  test("runs as a user that is not root, by number", () => {
    const users = last.filter((line) => line.startsWith("USER "));
    expect(users).toEqual([`USER ${UID}:${UID}`]);
    const at = (start: string): number => last.findIndex((line) => line.startsWith(start));
    expect(at("USER ")).toBeLessThan(at("ENTRYPOINT "));
    expect(last.slice(at("USER ")).some((line) => line.startsWith("RUN "))).toBe(false);
  });

  test("has the Node that the tests run on", () => {
    const [major] = process.versions.node.split(".");
    const bases = instructions.filter((line) => line.startsWith("FROM "));
    expect(bases.map((line) => /^FROM node:(\d+)(?:-slim)?(?: AS \w+)?$/.exec(line)?.[1])).toEqual([major, major]);
  });

  test("is given no secret, nothing from elsewhere, and not the whole folder", () => {
    for (const line of instructions) {
      expect(line).not.toMatch(/^(?:ADD|ARG) /);
      expect(line).not.toMatch(/^COPY \.{1,2}\/? /);
      expect(line).not.toMatch(/^ENV .*(?:KEY|SECRET|TOKEN|PASSWORD)/i);
    }
    expect(last.filter((line) => line.startsWith("COPY ")).every((line) => line.startsWith("COPY --from=build "))).toBe(
      true,
    );
    const given = instructions.flatMap((line) =>
      (/^COPY (?!--from)(.*) \S+$/.exec(line)?.[1] ?? "").split(" ").filter(Boolean),
    );
    expect(given.every((name) => existsSync(join(ROOT, name)))).toBe(true);
    expect(read("Dockerfile.dockerignore").trim().split("\n")).toEqual(
      ["*", ...given.map((name) => `!${name}`)].sort(byMark),
    );
  });

  test("is given the programs that its build runs", () => {
    const programs = [...manifest.scripts.build.matchAll(/\bnode .*?([\w-]+)\/[\w./-]+\.ts/g)].map(([, name]) => name);
    expect(programs).not.toEqual([]);
    for (const name of programs) expect(instructions).toContain(`COPY ${name} ./${name}`);
  });

  test("names settings that there are", () => {
    const [, text = ""] = /^ENV (.*)$/.exec(last.find((line) => line.startsWith("ENV ")) ?? "") ?? [];
    const variables = text.split(/\s+/).map((one) => one.split("=", 2) as [string, string]);
    expect(() => readEnvironment(Object.fromEntries(variables))).not.toThrow();
    expect(Object.fromEntries(variables)).toMatchObject({ GLOVEBOX_STATE_DIR: "/var/lib/glovebox" });
  });

  test("knows whether the service in it is alive", async () => {
    const [, command = "[]"] =
      /^HEALTHCHECK .* CMD (.*)$/.exec(last.find((line) => line.startsWith("HEALTH")) ?? "") ?? [];
    const [, ...args] = JSON.parse(command) as string[];
    await using server = await serve(["--tools", "fixtures/tools/slugify"]);
    const check = (port: number): Promise<Ended> =>
      run("/usr/bin/env", `GLOVEBOX_PORT=${port}`, process.execPath, ...args);
    expect(await check(server.port)).toEqual({ code: 0, output: "" });
    server.signal("SIGKILL");
    await server.exit;
    expect((await check(server.port)).code).toBe(1);
  });
});

/** What is left out goes before what is let in. */
function byMark(one: string, other: string): number {
  return Number(other === "*") - Number(one === "*");
}

test("what Kubernetes is told fits the service: its settings, its user, and time enough to stop", () => {
  const { spec } = parse(read("kubernetes.yaml")) as Manifest;
  const pod = spec.template.spec;
  const [container] = pod.containers;
  const env = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
  const ms = readEnvironment(env).reduce((sum, { value }) => sum + Number(value), 0);
  expect(pod.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(ms + 5_000);
  expect(pod).toMatchObject({ enableServiceLinks: false, securityContext: { runAsNonRoot: true, runAsUser: UID } });
  expect(container?.securityContext).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
});

interface Manifest {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly {
          readonly env: readonly { readonly name: string; readonly value: string }[];
          readonly securityContext: object;
        }[];
      };
    };
  };
}

const KEEPS = `
export const spec = { name: "keeps", description: "Counts its calls.", capabilities: { kv: true } };
export default async (_, { host }) => {
  const count = ((await host.kv.get("count")) ?? 0) + 1;
  await host.kv.set("count", count);
  return { count };
};
`;

test.skipIf(!existsSync(BUBBLEWRAP))(
  "a service runs as a user that is not root, on a file system of which it can write its state only",

  async () => {
    const state = join(folder, "state");
    mkdirSync(state);
    writeFileSync(join(folder, "keeps.js"), KEEPS);
    const config = join(folder, "glovebox.config.yaml");
    writeFileSync(config, "tools: [./keeps.js]\npolicy: { rules: [{ allow: { kv: true } }] }\n");
    chmodSync(folder, 0o755);
    // Whoever kills the walls kills what is in them.
    const readOnly = "--die-with-parent --ro-bind / / --dev-bind /dev /dev --bind /proc /proc".split(" ");
    const user = `--unshare-user --uid ${UID} --gid ${UID} --cap-drop ALL --`.split(" ");
    const walls = [...readOnly, "--bind", state, state, ...user];
    const args = ["--config", config, "--state-dir", state];
    await using server = await serve(args, { cwd: "/", wrap: (command) => [BUBBLEWRAP, ...walls, ...command] });
    await said(server, /^glovebox: executors run /);
    for (const count of [1, 2]) {
      const response = await fetch(`${server.url}/v1/execute`, {
        method: "POST",
        body: JSON.stringify({ name: "keeps", arguments: {} }),
        headers: { "content-type": "application/json" },
      });
      expect(((await response.json()) as ToolResult).output).toEqual({ count });
    }
    expect(statSync(join(state, "kv.sqlite")).size).toBeGreaterThan(0);
    const [service = 0] = descendants(server.pid);
    // As it sees the file system, what is not its state is read-only.
    const mounts = readFileSync(`/proc/${service}/mounts`, "utf8").split("\n");
    const options = (place: string): string | undefined =>
      mounts.findLast((line) => line.split(" ")[1] === place)?.split(" ")[3];
    expect(options("/")).toMatch(/^ro\b/);
    expect(options(state)).toMatch(/^rw\b/);
    expect(readFileSync(`/proc/${service}/status`, "utf8")).toMatch(/^CapEff:\s0+$/m);
    expect(server.errors.join("\n")).not.toMatch(/EROFS|EACCES|warning/);
  },
);
