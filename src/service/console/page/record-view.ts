import { getManPage, getRecord, getSpec, getVersions } from "./api.ts";
import { CallForm, messageOf } from "./call-form.ts";
import { badge, card, fill, h, table } from "./elements.ts";
import { manPage } from "./man-page.ts";
import type { RecordVersion, RegisteredRecord } from "./wire.ts";

/** View of one record of AgentSpace's registry: its manual page, versions, and a form to call the tool. */
export class RecordView {
  readonly element = h("div", { class: "stack" });
  readonly #id: string;
  #call: CallForm | null = null;

  constructor(id: string) {
    this.#id = id;
    fill(this.element, h("h1", { tabindex: -1 }, id));
    void this.#load();
  }

  /** Cancels the running call. */
  close(): void {
    this.#call?.close();
  }

  async #load(): Promise<void> {
    const id = this.#id;
    try {
      const [record, page, versions, { input }] = await Promise.all([
        getRecord(id),
        getManPage(id),
        getVersions(id),
        getSpec(id),
      ]);
      this.#call = new CallForm(id, input);
      fill(
        this.element,
        header(record),
        this.#call.element,
        card("Manual page", manPage(page)),
        card("Versions", versionsTable(versions)),
      );
    } catch (error) {
      fill(this.element, h("h1", { tabindex: -1 }, id), h("p", { class: "notice warn" }, messageOf(error)));
    }
  }
}

function header({
  tool_id: id,
  tool_metadata: metadata,
  tool_runtime_type: runtime,
  ...more
}: RegisteredRecord): HTMLElement {
  const { registered_by: by, created_at: created, updated_at: updated, revision } = more.registration;
  const changed = created === updated ? "" : `, changed ${timeOf(updated)}`;
  return h(
    "header",
    { class: "stack tight" },
    h("h1", { tabindex: -1 }, id, " ", h("span", { class: "muted version" }, metadata?.version ?? "")),
    h("p", { class: "lead" }, more.tool_search_description ?? metadata?.description ?? ""),
    h(
      "div",
      { class: "row" },
      badge(runtime, "plain", "The runtime of its package"),
      ...(more.tool_tags ?? []).slice(0, 20).map((tag) => badge(`#${tag}`)),
      h("span", { class: "muted" }, `revision ${revision}, by ${by}, registered ${timeOf(created)}${changed}`),
    ),
  );
}

function versionsTable(versions: readonly RecordVersion[]): HTMLElement {
  const rows = versions.map(({ revision, version, registered_by: by, registered_at: at, in_force: isInForce }) => [
    String(revision),
    version ?? "—",
    by,
    timeOf(at),
    isInForce ? badge("in force", "good") : "",
  ]);
  return table("Versions", ["Revision", "Version", "Registered by", "When", "State"], rows);
}

function timeOf(iso: string): string {
  return new Date(iso).toLocaleString();
}
