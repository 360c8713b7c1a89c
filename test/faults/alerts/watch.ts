/** A Prometheus beside a scene, with all rules at the speed of a test. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { stringify } from "yaml";
import { createKey } from "../../../src/server/access/secret.ts";
import { startPrometheus } from "../../prometheus.ts";
import type { Scene, Service } from "../scene.ts";
import { readRules, scaleRules } from "./scaling.ts";

const LOOK_MS = 200;
/** Where it finds whom to scrape. */
const TARGETS = "targets.json";

export interface Watch extends AsyncDisposable {
  /** Hash of the key with which it scrapes. A server without keys asks for none. */
  readonly keyHash: string;
  /** Names of the alerts that fire, or are about to. */
  readonly active: () => Promise<Active>;
  /** Whether the server answers its scrapes. */
  readonly seesServer: () => Promise<boolean>;
  /** Tells it of machines that have come. */
  readonly aim: () => void;
  /** Looks until something is so. Resolves with the time that it took, or with `null` once `mostMs` are over. */
  readonly until: (isSo: () => Promise<boolean>, mostMs: number) => Promise<number | null>;
}

export interface Active {
  readonly firing: ReadonlySet<string>;
  readonly pending: ReadonlySet<string>;
}

interface Alerts {
  readonly alerts: readonly {
    readonly labels: { readonly alertname: string };
    readonly state: "firing" | "pending";
  }[];
}

export async function watchScene(scene: Scene): Promise<Watch> {
  await using owned = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "glovebox-watch-"));
  owned.defer(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  const key = createKey();
  write("glovebox.key", `${key.secret}\n`);
  write("rules.yaml", scaleRules(readRules("rules.yaml")));
  write("alerts.yaml", scaleRules(readRules("alerts.yaml")));
  write("prometheus.yml", stringify(CONFIG));
  const aim = (): void => {
    // It must not read a half of it.
    write(`${TARGETS}.new`, JSON.stringify(targetsOf(scene)));
    renameSync(join(folder, `${TARGETS}.new`), join(folder, TARGETS));
  };
  aim();
  const prometheus = owned.use(await startPrometheus(folder));
  const active = async (): Promise<Active> => {
    const { alerts } = await prometheus.ask<Alerts>("alerts");
    const named = (of: string): ReadonlySet<string> =>
      new Set(alerts.filter(({ state }) => state === of).map(({ labels }) => labels.alertname));
    return { firing: named("firing"), pending: named("pending") };
  };
  const moved = owned.move();
  return {
    keyHash: key.hash,
    active,
    seesServer: async () => (await prometheus.query('up{job="glovebox"}')).some(({ value }) => value === "1"),
    aim,
    until,
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
}

/** As `prometheus.yml` of the samples, but each second, and with targets that come and go. */
const CONFIG = {
  global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
  rule_files: ["rules.yaml", "alerts.yaml"],
  scrape_configs: ["glovebox", "glovebox-worker"].map((job) => ({
    job_name: job,
    authorization: { type: "Bearer", credentials_file: "glovebox.key" },
    file_sd_configs: [{ files: [TARGETS], refresh_interval: "1s" }],
    relabel_configs: [{ source_labels: ["__of"], regex: job, action: "keep" }],
  })),
};

function targetsOf({ server, machines }: Scene): object {
  const hostOf = ({ url }: Service): string => new URL(url).host;
  return [
    { targets: [hostOf(server)], labels: { __of: "glovebox" } },
    { targets: machines.map(hostOf), labels: { __of: "glovebox-worker" } },
  ];
}

async function until(isSo: () => Promise<boolean>, mostMs: number): Promise<number | null> {
  const fromMs = performance.now();
  while (performance.now() - fromMs < mostMs) {
    // A machine that is too busy to answer now is asked again.
    if (await isSo().catch(() => false)) return Math.round(performance.now() - fromMs);
    await delay(LOOK_MS);
  }
  return null;
}
