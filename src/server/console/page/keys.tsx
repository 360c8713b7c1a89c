import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Table } from "./elements.tsx";
import { go } from "./router.ts";

/** Keys of a view: description and function of each. */
export type Keys = Readonly<Record<string, readonly [does: string, act: () => void]>>;

/** Pages by the letter that follows `g`. */
const GO: Readonly<Record<string, readonly [page: string, address: string]>> = {
  o: ["Overview", "#/"],
  c: ["Calls", "#/calls"],
  r: ["Calls", "#/calls"],
  a: ["Approvals", "#/approvals"],
  t: ["Tools", "#/tools"],
  p: ["Policy playground", "#/policy"],
  m: ["Program", "#/program"],
  f: ["Fleet", "#/fleet"],
};
const PATIENCE_MS = 1_500;

const views = signal<readonly Keys[]>([]);
const isHelpOpen = signal(false);
let wentMs = -Infinity;

/** Gives a view its keys from when it is shown. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useLayoutEffect(() => {
    // The functions are those of the last rendering of the view.
    const own: Keys = Object.fromEntries(
      Object.entries(keys).map(([key, [does]]) => [key, [does, () => latest.current[key]?.[1]()] as const]),
    );
    views.value = [...views.value, own];
    return () => void (views.value = views.value.filter((one) => one !== own));
  }, [Object.keys(keys).join()]);
}

document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  const isTyping = target instanceof HTMLElement && target.matches("input:not([type=checkbox]), textarea, select");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (document.querySelector("dialog[open]") !== null) return;
  if (actOn(key, target)) event.preventDefault();
});

function actOn(key: string, target: EventTarget | null): boolean {
  const page = performance.now() - wentMs < PATIENCE_MS ? GO[key] : undefined;
  wentMs = key === "g" && page === undefined ? performance.now() : -Infinity;
  if (page !== undefined) go(page[1]);
  else if (key === "?") isHelpOpen.value = true;
  // Enter on a link or a button is theirs.
  else if (key === "Enter" && target instanceof HTMLElement && target !== document.body && target.tabIndex >= 0)
    return false;
  else {
    const act = views.value.findLast((keys) => Object.hasOwn(keys, key))?.[key]?.[1];
    act?.();
    return act !== undefined;
  }
  return true;
}

/** Help with the keys of the page and of the view. */
export function KeysDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isHelpOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isHelpOpen.value]);
  const close = (): void => void (isHelpOpen.value = false);
  const pages = Object.entries(GO).filter(([letter]) => letter !== "r");
  const keys = [
    ...views.value.flatMap((view) => Object.entries(view).map(([key, [does]]) => [key, does] as const)),
    ["Ctrl Enter", "Run"],
    ["Ctrl .", "Cancel what runs"],
    ...pages.map(([letter, [name]]) => [`g ${letter}`, `Go to: ${name}`] as const),
    ["?", "Show this help"],
  ] as const;
  return (
    <dialog ref={dialog} aria-labelledby="keys-heading" onClose={close}>
      <div class="stack">
        <h2 id="keys-heading">Keys</h2>
        {isHelpOpen.value && (
          <Table
            label="Keys"
            heads={["Key", "What it does"]}
            items={keys}
            row={([key, does]) => [<kbd>{key}</kbd>, does]}
          />
        )}
        <div>
          <button type="button" class="primary" onClick={close}>
            Close
          </button>
        </div>
      </div>
    </dialog>
  );
}
