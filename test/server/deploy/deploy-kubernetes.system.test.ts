// needs: prometheus
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { MACHINE_DEFAULTS, SERVICE_DEFAULTS } from "../../../src/server/config/effective.ts";
import { createEngine } from "../../../src/glovebox/index.ts";
import { fleetMetrics, fleetOf, read, SECRET, seriesOf, unknownIn } from "./fleet-files.ts";
import { promtool } from "../../kernel/engine/telemetry/promtool.ts";

const UID = 10_001;
const REDIS_URL = "redis://:hush@redis.example:6379";
/** What every probe asks for. */
const PROBES = ["/readyz", "/healthz"];

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-deploy-fleet-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

interface Container {
  readonly args?: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly {
    readonly name: string;
    readonly valueFrom: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
  }[];
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
  readonly securityContext: object;
  readonly resources: { readonly requests: object; readonly limits: object };
  readonly volumeMounts: readonly { readonly name: string }[];
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Deployment {
  readonly replicas?: number;
  readonly selector: { readonly matchLabels: object };
  readonly template: {
    readonly metadata: { readonly labels: object; readonly annotations?: Readonly<Record<string, string>> };
    readonly spec: {
      readonly terminationGracePeriodSeconds: number;
      readonly containers: readonly [Container];
      readonly volumes: readonly { readonly name: string; readonly configMap?: { readonly name: string } }[];
    };
  };
}

interface Metric {
  readonly type: string;
  readonly external: { readonly metric: { readonly name: string }; readonly target: object };
}

interface Document {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: unknown;
}

describe("the manifest for Kubernetes", () => {
  const text = read("kubernetes-fleet.yaml");
  const documents = parseAllDocuments(text).map((document) => document.toJS() as Document);
  const of = (kind: string, name: string): Document => {
    const found = documents.find((one) => one.kind === kind && one.metadata.name === name);
    if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
    return found;
  };
  const deployments = ["glovebox-server", "glovebox-worker"].map((name) => of("Deployment", name).spec as Deployment);
  const [server, worker] = deployments as [Deployment, Deployment];
  const known: Readonly<Record<string, string>> = { "redis-url": REDIS_URL, secret: SECRET, keys: "[]" };

  const environmentOf = ({ template }: Deployment): NodeJS.ProcessEnv =>
    Object.fromEntries(
      template.spec.containers[0].env.map(({ name, valueFrom }) => [name, known[valueFrom.secretKeyRef.key]]),
    );

  async function settingsOf(deployment: Deployment) {
    for (const [name, content] of Object.entries(of("ConfigMap", "glovebox-fleet").data ?? {})) {
      writeFileSync(join(folder, name), content);
    }
    return fleetOf(join(folder, "glovebox.config.yaml"), environmentOf(deployment));
  }

  test("has everything once, in versions that are there to stay", () => {
    const kinds = documents.map(({ apiVersion, kind, metadata: { name } }) => `${apiVersion} ${kind} ${name}`);
    expect(kinds).toEqual([
      "v1 ConfigMap glovebox-fleet",
      "apps/v1 Deployment glovebox-server",
      "apps/v1 Deployment glovebox-worker",
      "policy/v1 PodDisruptionBudget glovebox-server",
      "policy/v1 PodDisruptionBudget glovebox-worker",
      "autoscaling/v2 HorizontalPodAutoscaler glovebox-worker",
    ]);
  });

  test("makes servers and worker machines one fleet, with secrets that it names and does not have", async () => {
    const [ofServers, ofWorkers] = [await settingsOf(server), await settingsOf(worker)];
    expect(ofServers.executor).toMatchObject({ own: { url: REDIS_URL, secret: SECRET } });
    expect(ofWorkers.executor).toEqual(ofServers.executor);
    for (const { template } of deployments) {
      for (const { valueFrom } of template.spec.containers[0].env) {
        expect(valueFrom.secretKeyRef.name).toBe("glovebox-fleet");
        expect(text).toContain(`#     --from-literal=${valueFrom.secretKeyRef.key}=`);
      }
    }
    expect(Object.keys(environmentOf(worker))).not.toContain("GLOVEBOX_KEYS");
  });

  test("has a tool that runs", { timeout: 120_000 }, async () => {
    const { values } = await settingsOf(server);
    await using engine = await createEngine({ tools: values.tools ?? [], executor: "threads", workers: 1 });
    expect(await engine.execute({ name: "hello", arguments: { name: "Ada" } })).toMatchObject({
      output: "Hello, Ada!",
    });
  });

  test.each([
    ["servers", server],
    ["worker machines", worker],
  ])("has %s that run as nobody in particular, and are asked where they answer", async (_, deployment) => {
    const { spec, metadata } = deployment.template;
    const [container] = spec.containers;
    expect(metadata.labels).toMatchObject(deployment.selector.matchLabels);
    expect(spec).toMatchObject({
      enableServiceLinks: false,
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: UID, seccompProfile: { type: "RuntimeDefault" } },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(Object.keys(container.resources.requests)).toEqual(["cpu", "memory"]);
    expect(container.resources.limits).toHaveProperty("memory");
    const mounted = container.volumeMounts.map(({ name }) => name);
    expect(mounted).toEqual(spec.volumes.map(({ name }) => name));
    for (const { configMap } of spec.volumes) if (configMap !== undefined) of("ConfigMap", configMap.name);
    const [port] = container.ports;
    const probes = [container.readinessProbe, container.livenessProbe].map(({ httpGet }) => httpGet);
    expect(probes).toEqual(PROBES.map((path) => ({ path, port: port?.name })));
    expect(unknownIn(container.args ?? [])).toEqual([]);
    const { machine } = await settingsOf(deployment);
    if (deployment === server) return expect(port?.containerPort).toBe(SERVICE_DEFAULTS.port);
    expect([machine.host, machine.port, port?.containerPort]).toEqual(["0.0.0.0", MACHINE_DEFAULTS.port, machine.port]);
    expect(metadata.annotations).toMatchObject({ "prometheus.io/port": `${machine.port}` });
  });

  test("waits longer than servers and worker machines drain", async () => {
    const graceMs = ({ template }: Deployment): number => template.spec.terminationGracePeriodSeconds * 1_000;
    const { values, machine } = await settingsOf(server);
    expect(graceMs(server)).toBeGreaterThan((values.drainMs ?? 0) + (values.drainDelayMs ?? 0) + 5_000);
    expect(graceMs(worker)).toBeGreaterThan(machine.drainMs + 5_000);
  });

  test("lets no more of either go at once than it can spare", () => {
    const budgetOf = (name: string): unknown => of("PodDisruptionBudget", name).spec;
    expect(budgetOf("glovebox-server")).toEqual({ minAvailable: 1, selector: server.selector });
    expect(budgetOf("glovebox-worker")).toEqual({ maxUnavailable: 1, selector: worker.selector });
  });

  test("has as many worker machines as metrics ask for that the adapter makes", () => {
    interface Autoscaler {
      readonly scaleTargetRef: object;
      readonly minReplicas: number;
      readonly metrics: readonly Metric[];
    }
    const { scaleTargetRef, minReplicas, metrics } = of("HorizontalPodAutoscaler", "glovebox-worker")
      .spec as Autoscaler;
    expect(scaleTargetRef).toEqual({ apiVersion: "apps/v1", kind: "Deployment", name: "glovebox-worker" });
    // Two would decide.
    expect(worker).not.toHaveProperty("replicas");
    expect(minReplicas).toBeGreaterThan(1);
    const { externalRules } = parse(read("prometheus/adapter.yaml")) as {
      readonly externalRules: readonly { readonly seriesQuery: string; readonly name?: { readonly as: string } }[];
    };
    const made = externalRules.map(({ seriesQuery, name }) => name?.as ?? /__name__="(\w+)"/.exec(seriesQuery)?.[1]);
    expect(metrics.map(({ type, external }) => [type, external.metric.name])).toEqual(
      made.map((name) => ["External", name]),
    );
  });
});

describe("the kustomization", () => {
  const manifest = parseAllDocuments(read("kubernetes-fleet.yaml")).map((document) => document.toJS() as Document);
  const policies = parseAllDocuments(read("kubernetes-network.yaml")).map(
    (document) => document.toJS() as NetworkPolicy,
  );

  interface Rule {
    readonly ports: readonly { readonly port: string | number }[];
    readonly to?: readonly { readonly ipBlock?: { readonly except: readonly string[] } }[];
  }

  interface NetworkPolicy extends Document {
    readonly spec: {
      readonly podSelector: { readonly matchLabels: object };
      readonly policyTypes: readonly string[];
      readonly ingress: readonly Rule[];
      readonly egress: readonly Rule[];
    };
  }

  test("is made of files that are there, in a namespace that refuses what is not restricted", () => {
    const { namespace, resources } = parse(read("kustomization.yaml")) as {
      readonly namespace: string;
      readonly resources: readonly string[];
    };
    const kinds = resources.flatMap((file) =>
      parseAllDocuments(read(file)).map((one) => (one.toJS() as Document).kind),
    );
    expect(new Set(kinds)).toContain("Namespace");
    expect(parse(read("kubernetes-namespace.yaml"))).toMatchObject({
      metadata: { name: namespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
    });
  });

  test("lets each pod be asked at its own port, and worker machines ask DNS and Redis alone", () => {
    for (const { spec } of policies) {
      const { podSelector, policyTypes, ingress } = spec;
      const pods = manifest.map(({ spec: of }) => of as Partial<Deployment> | undefined);
      const [pod, ...others] = pods.filter((one) =>
        isDeepStrictEqual(one?.template?.metadata.labels, podSelector.matchLabels),
      );
      expect(others).toEqual([]);
      expect(policyTypes).toEqual(["Ingress", "Egress"]);
      expect(ingress.map(({ ports }) => ports.map(({ port }) => port))).toEqual([
        pod?.template?.spec.containers[0].ports.map(({ name }) => name),
      ]);
    }
    const [server, worker] = policies.map(({ spec }) => spec.egress);
    expect(worker?.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual([53, 53, 6379]);
    const world = server?.flatMap(({ to }) => to ?? []).find(({ ipBlock }) => ipBlock !== undefined);
    expect(world?.ipBlock?.except).toEqual(expect.arrayContaining(["10.0.0.0/8", "169.254.0.0/16"]));
  });
});

test("the adapter adds up what each server tells of its own jobs", () => {
  const { externalRules } = parse(read("prometheus/adapter.yaml")) as {
    readonly externalRules: readonly { readonly seriesQuery: string; readonly metricsQuery: string }[];
  };
  const waiting = externalRules.find(({ seriesQuery }) => seriesQuery.includes("glovebox_fleet_waiting_jobs"));
  expect(waiting?.metricsQuery).toMatch(/^sum\(/);
});

test("the adapter makes metrics for autoscaling of those that a fleet shows", async () => {
  const { externalRules } = parse(read("prometheus/adapter.yaml")) as {
    readonly externalRules: readonly { readonly seriesQuery: string; readonly metricsQuery: string }[];
  };
  const shown = fleetMetrics.flatMap(seriesOf);
  const rules = externalRules.map(({ seriesQuery, metricsQuery }, index) => {
    const series = /^\{__name__="(\w+)",namespace!=""\}$/.exec(seriesQuery)?.[1] ?? "";
    expect(shown).toContain(series);
    const expr = metricsQuery.replaceAll("<<.Series>>", series).replaceAll("<<.LabelMatchers>>", 'namespace="a"');
    return { record: `query_${index}`, expr };
  });
  const file = join(folder, "adapter-rules.yaml");
  writeFileSync(file, stringify({ groups: [{ name: "adapter", rules }] }));
  const { code, said } = await promtool(["check", "rules", file]);
  expect([code, said]).toEqual([0, expect.stringContaining(`${rules.length} rules found`)]);
});
