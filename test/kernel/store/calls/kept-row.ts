import type { CallRow, DetailTexts } from "../../../../src/kernel/store/calls/call-record.ts";

export interface Kept {
  readonly id: string;
  readonly tool?: string;
  readonly tenant?: string;
  readonly code?: string;
  readonly error?: string | null;
  readonly beginMs?: number;
}

export const NO_DETAIL: DetailTexts = {
  arguments: null,
  output: null,
  outputAt: null,
  error: null,
  logs: "",
  omitted: [],
  told: null,
  turns: { beginMs: 0, startsMs: [], cpuMs: 0, told: "" },
  explanation: null,
  run: null,
  schemas: null,
};

export function rowOf(kept: Kept, detail: Partial<DetailTexts> | null = null): CallRow {
  const { id, tool = "add", tenant = "", code = "ok", error = null, beginMs = Date.now() } = kept;
  const cells = [
    id,
    tool,
    "1.0.0",
    "d".repeat(64),
    tenant,
    null,
    "library",
    null,
    code,
    error,
    beginMs,
    0.5,
    1.25,
    0.75,
    20,
    1,
    1,
  ] as const;
  return [cells, detail && { ...NO_DETAIL, ...detail }];
}
