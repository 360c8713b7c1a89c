import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { caller } from "../caller.ts";
import type { DurableCall, OpenApproval } from "../durable-call.ts";
import { Badge, Card, JsonView, Notice, Part, TextView, ToolLink } from "../elements.tsx";
import { formatSpan, seen } from "../format.ts";
import { tools } from "../tools.ts";
import { recordOf, type ToolInfo } from "../wire.ts";
import { type ApprovalProps, DecisionForm, roleObstacle } from "./decision-form.tsx";

/** Length of a message and of a description. */
const TEXT_MAX = 4_000;

/** The call that an approval would start, and the decision about it. */
export function ApprovalCard(props: ApprovalProps) {
  const { wait } = props;
  const tool = tools.value?.find(({ name }) => name === wait.tool);
  const { code } = recordOf(wait.arguments);
  const obstacle = obstacleOf(props.call, wait);
  const heading = wait.tool === null ? "The call asks for an approval" : `Approve a call of ${wait.tool}?`;
  return (
    <Card heading={heading.slice(0, 200)}>
      <p class="lead">{seen(wait.message.slice(0, TEXT_MAX))}</p>
      {tool !== undefined && <About tool={tool} wait={wait} />}
      <Facts {...props} />
      <Part heading={wait.tool === null ? "What the call shows" : "Arguments"}>
        {wait.tool === "run_code" && typeof code === "string" && <TextView label="Program" text={code} isWhole />}
        <JsonView label="Arguments" value={wait.arguments} isWhole />
      </Part>
      {obstacle === null ? <DecisionForm {...props} schema={tool?.inputSchema ?? {}} /> : <Notice>{obstacle}</Notice>}
    </Card>
  );
}

/** Annotations that speak for or against an approval. */
const SPOKEN = [
  ["readOnly", "reads only"],
  ["destructive", "destructive"],
  ["idempotent", "may be repeated"],
  ["openWorld", "reaches outside"],
] as const;

function About({ tool, wait }: { tool: ToolInfo; wait: OpenApproval }) {
  const { annotations = {}, description, digest, name } = tool;
  const told = SPOKEN.filter(([mark]) => annotations[mark] === true);
  return (
    <>
      <div class="row">
        <ToolLink name={name} />
        {told.map(([mark, words]) => (
          <Badge text={words} tone={mark === "destructive" ? "bad" : "plain"} />
        ))}
      </div>
      <p class="lead muted">{seen(description.slice(0, TEXT_MAX))}</p>
      {digest !== undefined && digest !== wait.version && (
        <Notice>
          The tool is another version now than the one that was to run. An approval will be refused as a conflict.
        </Notice>
      )}
    </>
  );
}

function Facts({ call: { tenant, key }, wait }: ApprovalProps) {
  const { from, openedAt, expiresAt, digest, by } = wait;
  const nowMs = useNow();
  const facts = [
    ["Asked for by", from],
    ["Tenant", tenant === "" ? "none" : tenant],
    ["Key of the call", key ?? "none"],
    ["Waits for", formatSpan(Math.max(0, nowMs - Date.parse(openedAt)))],
    ["Expires in", expiresAt === null ? "with the call" : formatSpan(Math.max(0, Date.parse(expiresAt) - nowMs))],
    ...(by.length === 0 ? [] : [["May be decided by", by.join(", ")]]),
    ["Digest", digest],
  ] as const;
  return (
    <dl class="facts">
      {facts.map(([name = "", text = ""]) => (
        <div>
          <dt>{name}</dt>
          <dd>
            <code class="short">{text}</code>
          </dd>
        </div>
      ))}
    </dl>
  );
}

const TICK_MS = 5_000;

/** The time, again and again. */
function useNow(): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    const ticking = setInterval(() => (now.value = Date.now()), TICK_MS);
    return () => clearInterval(ticking);
  }, []);
  return now.value;
}

/** The reason why the page's key may not decide; `null` if it may, as far as the page can tell. */
function obstacleOf({ key }: DurableCall, { by, self }: OpenApproval): string | null {
  const own = caller.value?.key ?? null;
  const obstacle = roleObstacle();
  if (obstacle !== null || own === null) return obstacle;
  const isMeant = by.length === 0 || by.some((name) => isNamed(name, own));
  if (!isMeant) return `Your key may not decide: the rule names ${by.join(", ")}.`;
  return key === own && !self ? "Your key made the call, and may not decide it." : null;
}

function isNamed(pattern: string, key: string): boolean {
  return pattern.endsWith("*") ? key.startsWith(pattern.slice(0, -1)) : pattern === key;
}
