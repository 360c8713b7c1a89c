import { Counter, Gauge, type Registry } from "../../base/prometheus.ts";
import type { Events } from "./events.ts";

/** Registers metrics of connectors. The names of connectors are the operator's. */
export function registerConnectorMetrics(registry: Registry, events: Events): void {
  const registers = [registry];
  const calls = new Counter({
    name: "glovebox_connector_calls_total",
    help: "Requests of connectors' tools by connector and outcome.",
    labelNames: ["connector", "outcome"],
    registers,
  });
  const up = new Gauge({
    name: "glovebox_connector_up",
    help: "Whether the server of a connector can be called: 1 or 0.",
    labelNames: ["connector"],
    registers,
  });
  const logins = new Gauge({
    name: "glovebox_connector_login",
    help: "Whether a connector has a token, or gets one when it needs it: 1 or 0. Of logins for each tenant, the operator's.",
    labelNames: ["connector"],
    registers,
  });
  const renewals = new Counter({
    name: "glovebox_connector_renewals_total",
    help: "Requests for access tokens by connector and outcome: renewed, refused, failed.",
    labelNames: ["connector", "outcome"],
    registers,
  });
  const names = new Set<string>();
  const set = (connector: string, value: number): void => {
    names.add(connector);
    up.set({ connector }, value);
  };
  events.on("connector:up", ({ connector }) => set(connector, 1));
  events.on("connector:down", ({ connector }) => set(connector, 0));
  events.on("connector:login", ({ connector, tenant, state, renewal: outcome }) => {
    if (tenant === "") logins.set({ connector }, state === "ready" ? 1 : 0);
    if (outcome !== null) renewals.inc({ connector, outcome });
  });
  events.on("capability:call", ({ capability, outcome, tool }) => {
    if (capability !== "connector") return;
    // Other tools may request the capability, and are denied.
    const [connector = ""] = tool.split(".", 1);
    if (names.has(connector)) calls.inc({ connector, outcome });
  });
}
