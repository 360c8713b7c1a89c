import { formatNumber, renderTable } from "../report.ts";
import type { ComparedWorkload, Comparison } from "./compare.ts";

/** A table with a line for each workload. */
export function renderComparison({ machine, against, boundPercent, smoke, workloads }: Comparison): string {
  const { cpus, node, v8 } = machine;
  const head =
    `This revision against ${against.revision} (${against.commit}): ${cpus} processors, Node ${node}, V8 ${v8}.\n` +
    `Ratio: time here / time there; slower means that the 95 % interval is above ${formatNumber(1 + boundPercent / 100)}.`;
  const note = smoke ? "\nA smoke run: it proves that the benchmarks work, its figures mean nothing." : "";
  const headings = ["workload", "unit", "here", "there", "ratio", "95 %", ""];
  return `${head}${note}\n\n${renderTable([headings, ...workloads.map((one) => renderWorkload(one, smoke))])}`;
}

function renderWorkload(
  { name, unit, own, other, ratio, interval, isSlower }: ComparedWorkload,
  smoke: boolean,
): string[] {
  return [
    name,
    unit,
    formatNumber(own),
    formatNumber(other),
    formatNumber(ratio),
    interval.map(formatNumber).join("–"),
    isSlower && !smoke ? "slower" : "",
  ];
}
