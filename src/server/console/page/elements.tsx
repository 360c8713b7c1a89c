import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId } from "preact/hooks";
import { messageOf } from "./api.ts";
import { seen } from "./format.ts";
import { addressOf } from "./router.ts";

export type Tone = "plain" | "good" | "warn" | "bad";

/** A short label. Its text carries the meaning, never the colour alone. */
export function Badge({ text, tone = "plain", title }: { text: string; tone?: Tone; title?: string | undefined }) {
  return (
    <span class={`badge ${tone}`} title={title}>
      {text}
    </span>
  );
}

/** The outcome of a call: `ok` or an error's code. */
export function Outcome({ code }: { code: string }) {
  return <Badge text={code} tone={code === "ok" ? "good" : "bad"} />;
}

/** A section with a heading. */
export function Card(props: { heading: string; class?: string; children?: ComponentChildren }) {
  const id = useId();
  return (
    <section class={`card ${props.class ?? ""}`} aria-labelledby={id}>
      <h2 id={id}>{props.heading}</h2>
      {props.children}
    </section>
  );
}

/** A part of a card with a heading of its own. */
export function Part({ heading, children }: { heading: string; children?: ComponentChildren }) {
  return (
    <div class="stack tight">
      <h3>{heading}</h3>
      {children}
    </div>
  );
}

/** Text that explains why something is missing or wrong. */
export function Notice({ tone = "warn", children }: { tone?: Tone; children?: ComponentChildren }) {
  return <p class={`notice ${tone}`}>{children}</p>;
}

/** A scrollable box that the keyboard can reach. */
export function ScrollBox(props: { label: string; class: string; children?: ComponentChildren }) {
  return (
    <div class={props.class} tabIndex={0} role="group" aria-label={props.label}>
      {props.children}
    </div>
  );
}

/** Maximum number of rows of a table. */
const ROWS_MAX = 500;

interface TableProps<Item> {
  readonly label: string;
  readonly heads: readonly string[];
  readonly items: readonly Item[];
  /** The cells of an item. */
  readonly row: (item: Item) => readonly ComponentChildren[];
  /** Text in place of a table without rows. */
  readonly empty?: string;
  /** Number of items in addition to the given ones. */
  readonly omitted?: number;
}

/** A table of items in a scrollable box. */
export function Table<Item>({ label, heads, items, row, empty, omitted = 0 }: TableProps<Item>) {
  const shown = items.slice(0, ROWS_MAX);
  const rest = omitted + items.length - shown.length;
  if (items.length === 0 && empty !== undefined) return <p class="empty">{empty}</p>;
  return (
    <>
      <ScrollBox label={label} class="table-box">
        <table>
          <caption class="unseen">{label}</caption>
          <thead>
            <tr>{heads.map(headOf)}</tr>
          </thead>
          <tbody>
            {shown.map((item) => (
              <tr>
                {row(item).map((cell) => (
                  <td>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
      {rest > 0 && <p class="muted">{rest} more not shown.</p>}
    </>
  );
}

/** Labels of a tool. */
export function Tags({ tags }: { tags: readonly string[] }) {
  return (
    <>
      {tags.slice(0, 20).map((tag) => (
        <Badge text={`#${tag}`} />
      ))}
    </>
  );
}

/** The head of a column. */
export function headOf(text: string): JSX.Element {
  return <th scope="col">{text}</th>;
}

/** A figure whose digits keep their width. */
export function Figure({ children }: { children?: ComponentChildren }) {
  return <span class="figures">{children}</span>;
}

export function ToolLink({ name }: { name: string }) {
  return (
    <a href={addressOf("tools", name)} class="mono">
      {name}
    </a>
  );
}

/** A secondary button of a form. */
export function Quiet(props: JSX.IntrinsicElements["button"] & { small?: boolean }) {
  const { small, ...rest } = props;
  return <button type="button" class={small === true ? "quiet small" : "quiet"} {...rest} />;
}

/** A part of a time line, in milliseconds of it. The text beside it has the same facts. */
export function Bar({ atMs, ms, endMs, kind }: { atMs: number; ms: number | null; endMs: number; kind: string }) {
  const scale = 100 / Math.max(endMs, 0.001);
  const width = Math.min(100, Math.max(0.5, (ms ?? endMs - atMs) * scale));
  const left = Math.min(Math.max(0, atMs * scale), 100 - width);
  return (
    <span class="timeline" aria-hidden="true">
      <span class={ms === null ? "unfinished" : kind} style={{ left: `${left}%`, width: `${width}%` }} />
    </span>
  );
}

/** Maximum length with syntax colours; longer text is shown plain, and cut off at `SHOWN_MAX`. */
const COLOURED_MAX = 100_000;
const SHOWN_MAX = 500_000;
const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A value as indented JSON. */
export function JsonView({ label, value, isWhole = false }: { label: string; value: unknown; isWhole?: boolean }) {
  return <TextView label={label} text={JSON.stringify(value, null, 2) ?? "nothing"} isJson isWhole={isWhole} />;
}

/** A value as text if it is one, else as JSON. */
export function ValueView({ label, value }: { label: string; value: unknown }) {
  return typeof value === "string" ? <TextView label={label} text={value} /> : <JsonView label={label} value={value} />;
}

interface TextViewProps {
  readonly label: string;
  readonly text: string;
  readonly isJson?: boolean;
  /** Nothing is cut off: a decision depends on it. */
  readonly isWhole?: boolean;
}

/** A box with a text, unformatted. */
export function TextView({ label, text, isJson = false, isWhole = false }: TextViewProps) {
  const most = isWhole ? text.length : SHOWN_MAX;
  const shown = seen(text.slice(0, most));
  const left = text.length - most;
  return (
    <ScrollBox label={label} class="code-box">
      <pre>
        <code>{isJson && shown.length <= COLOURED_MAX ? coloured(shown) : shown}</code>
      </pre>
      {left > 0 && <p class="muted">{left} more characters are not shown.</p>}
    </ScrollBox>
  );
}

function coloured(json: string): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const { 0: token, 1: text, 2: colon, index } of json.matchAll(TOKEN)) {
    parts.push(json.slice(at, index));
    if (text === undefined) parts.push(<span class="t-value">{token}</span>);
    else parts.push(<span class={colon === undefined ? "t-text" : "t-name"}>{text}</span>, colon);
    at = index + token.length;
  }
  parts.push(json.slice(at));
  return parts;
}

/** A value that is being loaded, has been, or could not be. */
export type Loaded<T> =
  | { readonly kind: "loading" }
  | { readonly kind: "ready"; readonly value: T }
  | { readonly kind: "failed"; readonly message: string };

/** Loads a value, and reloads it if one of the inputs has changed. Outdated requests are aborted. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const state = useSignal<Loaded<T>>({ kind: "loading" });
  useEffect(() => {
    const current = new AbortController();
    state.value = { kind: "loading" };
    void settle(load(current.signal)).then((next) => {
      if (!current.signal.aborted) state.value = next;
    });
    return () => current.abort();
  }, inputs);
  return state.value;
}

/** The outcome of loading a value. */
export function settle<T>(loading: Promise<T>): Promise<Loaded<T>> {
  return loading.then(
    (value) => ({ kind: "ready", value }),
    (error: unknown) => ({ kind: "failed", message: messageOf(error) }),
  );
}

/** Shows a loaded value; before that nothing, or the reason for the failure. */
export function When<T>({ loaded, children }: { loaded: Loaded<T>; children: (value: T) => ComponentChildren }) {
  if (loaded.kind === "failed") return <Notice>{loaded.message}</Notice>;
  return <>{loaded.kind === "ready" && children(loaded.value)}</>;
}

const spoken = signal("");
/** Time between two announcements that the user has not caused. */
const PATIENCE_MS = 5_000;
let spokenMs = -Infinity;
let waiting = 0;

/** Live region for screen readers; `announce` writes to it. */
export function LiveRegion() {
  return (
    <p class="unseen" role="status" aria-live="polite">
      {spoken}
    </p>
  );
}

/** Announces the outcome of a user's action. */
export function announce(text: string): void {
  clearTimeout(waiting);
  spokenMs = performance.now();
  spoken.value = text;
}

/** Announces an event that the user has not caused, at most every 5 seconds. */
export function mention(text: string): void {
  clearTimeout(waiting);
  waiting = setTimeout(() => announce(text), Math.max(0, spokenMs + PATIENCE_MS - performance.now()));
}
