import { Badge, Card, Figure, Table, ToolLink } from "../elements.tsx";
import { formatCount, formatMs } from "../format.ts";
import { last } from "../stats.ts";
import { tools } from "../tools.ts";
import type { ToolInfo } from "../wire.ts";

/** All tools of the key, and their current activity. */
export function Page() {
  const figures = new Map(last.value?.tools.map((tool) => [tool.name, tool]));
  const rowOf = ({ name, description, version, contract, isolation }: ToolInfo) => {
    const { callsPerSecond, p99Ms = null } = figures.get(name) ?? {};
    return [
      <ToolLink name={name} />,
      description.slice(0, 200),
      version,
      <span class="row">
        <Badge text={contract} />
        <Badge text={isolation} />
      </span>,
      <Figure>{formatCount(callsPerSecond ?? 0)}</Figure>,
      <Figure>{p99Ms === null ? "—" : formatMs(p99Ms)}</Figure>,
    ];
  };
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Tools</h1>
      <Card heading="All tools">
        <Table
          label="All tools"
          heads={["Tool", "Description", "Version", "Contract and isolation", "Calls/s", "p99"]}
          items={tools.value ?? []}
          row={rowOf}
        />
      </Card>
    </div>
  );
}
