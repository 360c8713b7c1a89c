import { Table } from "../elements.tsx";
import type { Difference } from "../wire.ts";

/** The places in which two calls differ. */
export function Differences({ differences, heads }: { differences: readonly Difference[]; heads: readonly string[] }) {
  if (differences.length === 0) return null;
  return (
    <Table
      label="Differences"
      heads={["Place", ...heads]}
      items={differences}
      row={({ pointer, left, right }) => [
        <span class="mono">{pointer === "" ? "all of it" : pointer}</span>,
        <code class="short">{textOf(left)}</code>,
        <code class="short">{textOf(right)}</code>,
      ]}
    />
  );
}

function textOf(value: unknown): string {
  return value === undefined ? "nothing" : typeof value === "string" ? value : JSON.stringify(value);
}
