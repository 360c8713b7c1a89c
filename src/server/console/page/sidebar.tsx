import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { maySeeWaiting, waiting } from "./caller.ts";
import { Badge, Quiet } from "./elements.tsx";
import { plural } from "./format.ts";
import { useKeys } from "./keys.tsx";
import { addressOf, has, type PageName, route } from "./router.ts";
import { hasFleet, quarantined } from "./stats.ts";
import { tools } from "./tools.ts";
import type { ToolInfo } from "./wire.ts";

/** Whether the list of tools is open, which has an effect only on narrow pages. */
const isOpen = signal(false);

/** The pages of this server, by its document. */
function pages(): readonly (readonly [page: PageName, name: string])[] {
  return [
    ["", "Overview"],
    ...(has("calls") ? [["calls", "Calls"] as const] : []),
    ...(maySeeWaiting() ? [["approvals", "Approvals"] as const] : []),
    ["policy", "Policy"],
    ...(has("codeMode") ? [["program", "Program"] as const] : []),
    ...(has("registry") ? [["registry", "Registry"] as const] : []),
    ...(!hasFleet.value ? [] : [["fleet", "Fleet"] as const]),
  ];
}

/** Navigation: the pages, and a searchable list of tools. */
export function Sidebar() {
  const { page, name } = route.value;
  const search = useRef<HTMLInputElement>(null);
  const seek = (): void => {
    isOpen.value = true;
    search.current?.focus();
    // On a narrow page the panel opens first.
    if (document.activeElement !== search.current) setTimeout(() => search.current?.focus());
  };
  useKeys({ "/": ["Search", seek] });
  useEffect(() => {
    isOpen.value = false;
  }, [page, name]);
  return (
    <nav class="sidebar" aria-label="Views">
      <div class="nav-row">
        {pages().map(([own, text]) => (
          <a href={addressOf(own, null)} class="nav-link" aria-current={own === page ? "page" : undefined}>
            {text}
            {own === "approvals" && waiting.value !== "" && (
              <>
                {" "}
                <Badge text={waiting.value} tone="warn" />
              </>
            )}
          </a>
        ))}
        <span class="opener">
          <Quiet
            aria-expanded={isOpen.value}
            aria-controls="tools-panel"
            onClick={() => (isOpen.value = !isOpen.value)}
          >
            Tools
          </Quiet>
        </span>
      </div>
      <ToolsPanel search={search} chosen={page === "tools" ? name : null} />
    </nav>
  );
}

function ToolsPanel({ search, chosen }: { search: { current: HTMLInputElement | null }; chosen: string | null }) {
  const words = useSignal("");
  const list = useRef<HTMLUListElement>(null);
  const all = tools.value ?? [];
  const found = all.filter((tool) => isFound(tool, words.value));
  const links = (): HTMLAnchorElement[] => [...(list.current?.querySelectorAll("a") ?? [])];
  const onSearchKey = (event: KeyboardEvent): void => {
    if (event.key === "Enter") links()[0]?.click();
    else if (event.key === "ArrowDown") links()[0]?.focus();
    else if (event.key === "Escape") words.value = "";
    else return;
    event.preventDefault();
  };
  const onListKey = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = links().findIndex((link) => link === document.activeElement) + step;
    (at < 0 ? search.current : links()[at])?.focus();
  };
  return (
    <div class={`panel ${isOpen.value ? "open" : ""}`} id="tools-panel">
      <label for="tools-search" class="unseen">
        Search tools
      </label>
      <input
        ref={search}
        type="search"
        id="tools-search"
        placeholder="Search tools"
        autocomplete="off"
        spellcheck={false}
        aria-keyshortcuts="/"
        value={words}
        onInput={(event) => (words.value = event.currentTarget.value)}
        onKeyDown={onSearchKey}
      />
      <p class="muted count" role="status">
        {tools.value === null
          ? ""
          : found.length === all.length
            ? plural(all.length, "tool")
            : `${found.length} of ${plural(all.length, "tool")}`}
      </p>
      <ul class="tool-list" ref={list} onKeyDown={onListKey}>
        {found.map((tool) => (
          <ToolItem key={tool.name} tool={tool} isChosen={tool.name === chosen} />
        ))}
      </ul>
    </div>
  );
}

function isFound({ name, description, tags }: ToolInfo, words: string): boolean {
  const text = [name, description, ...tags].join(" ").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function ToolItem({ tool, isChosen }: { tool: ToolInfo; isChosen: boolean }) {
  const { name, description, contract, isolation } = tool;
  return (
    <li>
      <a href={addressOf("tools", name)} class="tool-link" aria-current={isChosen ? "page" : undefined}>
        <span class="tool-name">
          <span class="mono">{name}</span>
          {quarantined.value.has(name) && <Badge text="quarantined" tone="bad" />}
          {contract !== "glovebox" && <Badge text={contract} />}
          {isolation !== "instance" && <Badge text={isolation} />}
        </span>
        <span class="tool-words">{description}</span>
      </a>
    </li>
  );
}
