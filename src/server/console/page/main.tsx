import { effect } from "@preact/signals";
import { type ComponentType, render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { setOnUnauthorized } from "./api.ts";
import { loadCaller, watchWaiting } from "./caller.ts";
import { LiveRegion, Notice } from "./elements.tsx";
import { askForKey, KeyButton, KeyDialog } from "./key-dialog.tsx";
import { key, keyChanges } from "./key.ts";
import { KeysDialog } from "./keys.tsx";
import { Page as Overview } from "./pages/overview.tsx";
import { type Route, route } from "./router.ts";
import { Sidebar } from "./sidebar.tsx";
import { feed, last, startStats } from "./stats.ts";
import { ThemeButton } from "./theme.tsx";
import { loadTools, tools, toolsProblem, watchTools } from "./tools.ts";

type View = ComponentType<{ readonly name: string }>;

const others = () => import("./pages/index.ts");

/** The view of each page. All but the first are loaded when one of them is first shown. */
const VIEWS: Readonly<Record<string, readonly [title: string, load: () => Promise<View>]>> = {
  "": ["Overview", () => Promise.resolve(Overview)],
  tools: ["Tools", () => others().then(({ Tools }) => Tools)],
  "tools/": ["Tool", () => others().then(({ Tool }) => Tool)],
  calls: ["Calls", () => others().then(({ Calls }) => Calls)],
  "calls/": ["Call", () => others().then(({ Call }) => Call)],
  approvals: ["Approvals", () => others().then(({ Approvals }) => Approvals)],
  "approvals/": ["Call that waits", () => others().then(({ WaitingCall }) => WaitingCall)],
  policy: ["Policy playground", () => others().then(({ Policy }) => Policy)],
  program: ["Program", () => others().then(({ Program }) => Program)],
  registry: ["Registry", () => others().then(({ Registry }) => Registry)],
  "registry/": ["Record", () => others().then(({ Record }) => Record)],
  fleet: ["Fleet", () => others().then(({ Fleet }) => Fleet)],
};

/** The name of a page's view. */
function viewOf({ page, name }: Route): string {
  const one = name === null ? page : `${page}/`;
  return one in VIEWS ? one : page;
}

function Main() {
  const view = viewOf(route.value);
  const { name } = route.value;
  const [Shown, show] = useState<{ view: string; Page: View } | null>(null);
  const isMoved = useRef(false);
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    let isCurrent = true;
    void VIEWS[view]?.[1]().then((Page) => isCurrent && show({ view, Page }));
    document.title = `${name ?? VIEWS[view]?.[0]} · Glovebox`;
    return () => void (isCurrent = false);
  }, [view, name]);
  const isShown = Shown?.view === view;
  // At once: a fast typist has already pressed the next key.
  useLayoutEffect(() => {
    if (!isShown) return;
    scrollTo(0, 0);
    if (isMoved.current) main.current?.querySelector("h1")?.focus();
    isMoved.current = true;
  }, [isShown, view, name]);
  const problem = toolsProblem.value;
  const isMissing = problem !== null && (problem.isKeyless || view === "tools/");
  return (
    <main id="main" tabIndex={-1} ref={main}>
      {isMissing ? (
        <Missing text={problem.text} isKeyless={problem.isKeyless} />
      ) : (
        isShown && <Shown.Page key={`${name}${keyChanges.value}`} name={name ?? ""} />
      )}
    </main>
  );
}

function Missing({ text, isKeyless }: { text: string; isKeyless: boolean }) {
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Glovebox</h1>
      <Notice>{text}</Notice>
      <div>
        <button type="button" class="primary" onClick={() => (isKeyless ? askForKey("") : void loadTools())}>
          {isKeyless ? "Enter a key" : "Try again"}
        </button>
      </div>
    </div>
  );
}

function State() {
  const isLive = feed.value.kind === "live";
  const state = last.value?.state ?? "";
  const text = isLive ? state : feed.value.kind === "connecting" ? "" : "no numbers";
  return <span class={`state ${isLive && state === "open" ? "good" : "warn"}`}>{text}</span>;
}

function App() {
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]')?.href ?? "";
  const skip = (event: Event): void => {
    event.preventDefault();
    document.getElementById("main")?.focus();
  };
  return (
    <>
      <a href="#main" class="skip" onClick={skip}>
        Skip to the content
      </a>
      <header class="top">
        <a href="#/" class="brand">
          <img src={icon} alt="" width={26} height={26} />
          Glovebox
        </a>
        <State />
        <div class="row end">
          <KeyButton />
          <ThemeButton />
        </div>
      </header>
      <div class="frame">
        <Sidebar />
        <Main />
      </div>
      <KeyDialog />
      <KeysDialog />
      <LiveRegion />
    </>
  );
}

setOnUnauthorized(() => askForKey(key.value === null ? "" : "Unknown key."));
watchTools();
watchWaiting();
// Another key may have access to other tools.
effect(() => {
  void keyChanges.value;
  tools.value = null;
  startStats();
  void loadTools();
  void loadCaller();
});
render(<App />, document.body);
