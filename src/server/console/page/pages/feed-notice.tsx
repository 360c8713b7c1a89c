import { Notice } from "../elements.tsx";
import { feed } from "../stats.ts";

/** The reason for missing numbers. */
export function FeedNotice() {
  const state = feed.value;
  return (
    <div role="status">
      {state.kind === "lost" && <Notice>No numbers at the moment: {state.reason}. The page tries again.</Notice>}
      {state.kind === "refused" && (
        <Notice>
          The server does not show its numbers to you: {state.reason}. A key with the role metrics may see them.
        </Notice>
      )}
    </div>
  );
}
