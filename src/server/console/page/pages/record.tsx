import { getJson, getText, pathTo } from "../api.ts";
import { CallForm } from "../call-form.tsx";
import { Badge, Card, Table, Tags, useLoaded, When } from "../elements.tsx";
import { formatTime } from "../format.ts";
import type { RecordVersion, RegisteredRecord, Schema } from "../wire.ts";
import { ManPage } from "./man-page.tsx";

/** One record of AgentSpace's registry: its manual page, versions, and a form to call the tool. */
export function Page({ name: id }: { name: string }) {
  const path = pathTo`/v1/agentspace/tools/${id}`;
  const loaded = useLoaded(
    (signal) =>
      Promise.all([
        getJson<RegisteredRecord>(path, signal),
        getText(`${path}/man`, signal),
        getJson<{ readonly versions: readonly RecordVersion[] }>(`${path}/versions`, signal),
        getJson<{ readonly input: Schema }>(`${path}/spec`, signal),
      ]),
    [id],
  );
  return (
    <div class="stack">
      {loaded.kind !== "ready" && <h1 tabIndex={-1}>{id}</h1>}
      <When loaded={loaded}>
        {([record, page, { versions }, { input }]) => (
          <>
            <Header record={record} />
            <CallForm tool={id} schema={input} />
            <Card heading="Manual page">
              <ManPage text={page} />
            </Card>
            <Card heading="Versions">
              <Versions versions={versions} />
            </Card>
          </>
        )}
      </When>
    </div>
  );
}

function Header({ record }: { record: RegisteredRecord }) {
  const { tool_id: id, tool_metadata: metadata, tool_runtime_type: runtime, tool_tags: tags = [] } = record;
  const { registered_by: by, created_at: created, updated_at: updated, revision } = record.registration;
  const changed = created === updated ? "" : `, changed ${formatTime(updated)}`;
  return (
    <header class="stack tight">
      <h1 tabIndex={-1}>
        {id} <span class="muted version">{metadata?.version}</span>
      </h1>
      <p class="lead">{record.tool_search_description ?? metadata?.description}</p>
      <div class="row">
        <Badge text={runtime} title="The runtime of its package" />
        <Tags tags={tags} />
        <span class="muted">{`revision ${revision}, by ${by}, registered ${formatTime(created)}${changed}`}</span>
      </div>
    </header>
  );
}

function Versions({ versions }: { versions: readonly RecordVersion[] }) {
  const rowOf = ({ revision, version, registered_by: by, registered_at: at, in_force: isInForce }: RecordVersion) => [
    revision,
    version ?? "—",
    by,
    formatTime(at),
    isInForce && <Badge text="in force" tone="good" />,
  ];
  const heads = ["Revision", "Version", "Registered by", "When", "State"];
  return <Table label="Versions" heads={heads} items={versions} row={rowOf} />;
}
