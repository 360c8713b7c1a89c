import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { SERVICE_DEFAULTS } from "../../../src/server/config/effective.ts";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { freePort } from "../../redis-server.ts";
import { DEPLOY, fleetOf, read, SECRET, unknownIn } from "./fleet-files.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-deploy-fleet-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

interface Service {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly stop_grace_period?: string;
  readonly networks: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly deploy?: { readonly replicas: number };
  readonly ports?: readonly string[];
}

interface Compose {
  readonly services: Readonly<Record<"redis" | "server" | "worker", Service>>;
  readonly volumes: object;
  readonly networks: object;
  readonly secrets: object;
}

describe("the compose file", () => {
  const text = read("docker-compose.yaml");
  const { services, volumes, networks, secrets } = parse(text, { merge: true }) as Compose;
  const variables = new Set([...text.matchAll(/\$\{(\w+)/g)].map(([, name = ""]) => name));

  /** As Compose would, with what is asked for. */
  const filledIn = (service: Service): NodeJS.ProcessEnv =>
    Object.fromEntries(
      Object.entries(service.environment ?? {}).map(([name, value]) => [
        name,
        value.replaceAll(/\$\{(\w+):\?[^}]*\}/g, SECRET),
      ]),
    );

  test("says only what a service can have, and names no volume, network, secret or file that there is not", () => {
    const known =
      "image build command user environment secrets init read_only tmpfs cap_drop security_opt restart depends_on " +
      "volumes networks healthcheck stop_grace_period ports deploy";
    for (const service of Object.values(services)) {
      expect(Object.keys(service).filter((key) => !known.split(" ").includes(key))).toEqual([]);
      expect(service.networks.filter((name) => !Object.hasOwn(networks, name))).toEqual([]);
      expect((service.secrets ?? []).filter((name) => !Object.hasOwn(secrets, name))).toEqual([]);
      const named = (service.volumes ?? []).map((volume) => volume.split(":")[0] ?? "");
      expect(named.filter((name) => /^\w+$/.test(name) && !Object.hasOwn(volumes, name))).toEqual([]);
      if (service.build === undefined) continue;
      const context = join(DEPLOY, service.build.context);
      expect(existsSync(join(context, service.build.dockerfile)) && existsSync(join(context, "package.json"))).toBe(
        true,
      );
    }
  });

  test("has no secret in it, asks for those that it needs, and says at its top what they are", () => {
    const head = text.slice(0, text.indexOf("\nname:"));
    for (const name of variables) {
      expect(head).toContain(`#   ${name}=`);
      // None has a value that would do.
      expect(text).not.toMatch(new RegExp(`\\$\\{${name}(?!:\\?)`));
    }
    expect(variables).toEqual(new Set(["REDIS_PASSWORD", "GLOVEBOX_FLEET_SECRET", "GLOVEBOX_KEY", "GLOVEBOX_FOLDER"]));
    expect(secrets).toEqual({ redis_password: { environment: "REDIS_PASSWORD" } });
  });

  test("makes a server and worker machines one fleet, over a Redis that is called so", async () => {
    const [server, worker] = await Promise.all([
      fleetOf(undefined, filledIn(services.server)),
      fleetOf(undefined, filledIn(services.worker)),
    ]);
    expect(server.executor).toMatchObject({ own: { url: `redis://:${SECRET}@redis:6379`, secret: SECRET } });
    expect(worker.executor).toEqual(server.executor);
    expect(services.worker.deploy).toMatchObject({ replicas: 2 });
    for (const { networks: joined } of [services.redis, services.server, services.worker])
      expect(joined).toContain("fleet");
    for (const { command = [] } of [services.server, services.worker]) expect(unknownIn(command)).toEqual([]);
  });

  test("waits longer than servers and worker machines drain", async () => {
    const graceMs = ({ stop_grace_period: grace = "" }: Service): number => Number(/^(\d+)s$/.exec(grace)?.[1]) * 1_000;
    const { values } = await fleetOf(undefined, filledIn(services.server));
    expect(graceMs(services.server)).toBeGreaterThan((values.drainMs ?? 0) + (values.drainDelayMs ?? 0) + 5_000);
    const { machine } = await fleetOf(undefined, filledIn(services.worker));
    expect(graceMs(services.worker)).toBeGreaterThan(machine.drainMs + 5_000);
  });

  test("asks worker machines where they answer, and lets nobody else in than who has a key", async () => {
    const { machine } = await fleetOf(undefined, filledIn(services.worker));
    expect(machine.host).toBe("0.0.0.0");
    expect(services.worker.healthcheck?.test.join(" ")).toContain(`http://127.0.0.1:${machine.port}/healthz`);
    expect(services.worker.ports ?? services.redis.ports).toBeUndefined();
    expect(services.server.ports).toEqual([`127.0.0.1:${SERVICE_DEFAULTS.port}:${SERVICE_DEFAULTS.port}`]);
    expect(services.server.environment).toHaveProperty("GLOVEBOX_KEY");
  });

  test(
    "starts a Redis that asks for the password, keeps what it was told, and drops nothing",
    { timeout: 120_000 },
    async () => {
      mkdirSync(join(folder, "secrets"));
      writeFileSync(join(folder, "secrets/redis_password"), SECRET);
      const port = await freePort();
      const [shell = "", flag = "", script = ""] = services.redis.command ?? [];
      const here = script
        .replaceAll("$$", "$")
        .replaceAll("/run/secrets", join(folder, "secrets"))
        .replaceAll("/tmp/redis.conf", join(folder, "redis.conf"));
      const child = spawn(shell, [flag, `${here} --port ${port} --bind 127.0.0.1 --dir ${folder}`], {
        stdio: "ignore",
      });
      const ended = once(child, "exit");
      try {
        await using known = RedisConnection.open(`redis://:${SECRET}@127.0.0.1:${port}`, "test");
        expect(await known.ready(10_000)).toBe(true);
        const settings = await known.client.config("GET", "appendonly", "maxmemory-policy");
        expect(settings).toEqual(expect.arrayContaining(["appendonly", "yes", "maxmemory-policy", "noeviction"]));
        await using unknown = RedisConnection.open(`redis://127.0.0.1:${port}`, "test");
        expect(await unknown.ready(1_000)).toBe(false);
      } finally {
        // The shell has made room for it, so that it hears signals.
        child.kill("SIGTERM");
        expect(await ended).toEqual([0, null]);
      }
    },
  );
});
