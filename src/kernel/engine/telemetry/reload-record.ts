import type { Registry } from "prom-client";
import { gaugesOf } from "../../base/prometheus.ts";
import type { Events } from "./events.ts";

/** The configuration that was not applied. Its `reason` may quote the configuration. */
export interface FailedReload {
  /** Time of the last attempt, in ISO 8601. */
  readonly at: string;
  readonly reason: string;
  /** Number of attempts since the last one that was applied. */
  readonly failures: number;
  /** Time at which the configuration that is in force was applied, in ISO 8601. */
  readonly inForceSince: string;
}

/** The reloads of an engine's configuration. */
export class ReloadRecord {
  #appliedMs = Date.now();
  #failed: FailedReload | null = null;

  constructor(events: Events, registry: Registry) {
    events.on("engine:reconfigure", () => this.#onApplied());
    events.on("config:reload", (event) => {
      if (event.isApplied) return this.#onApplied();
      const { reason = "" } = event;
      const failures = (this.#failed?.failures ?? 0) + 1;
      const inForceSince = new Date(this.#appliedMs).toISOString();
      this.#failed = { at: new Date().toISOString(), reason, failures, inForceSince };
    });
    const gauge = gaugesOf(registry, () => this);
    gauge("config_reload_failed", "1 if the last reload of the configuration was refused, else 0.", ({ failed }) =>
      failed === null ? 0 : 1,
    );
    gauge(
      "config_applied_timestamp_seconds",
      "Time at which the configuration that is in force was applied, in seconds since 1970.",
      (record) => record.#appliedMs / 1e3,
    );
  }

  /** `null` if the last reload was applied, or there was none. */
  get failed(): FailedReload | null {
    return this.#failed;
  }

  #onApplied(): void {
    this.#appliedMs = Date.now();
    this.#failed = null;
  }
}
