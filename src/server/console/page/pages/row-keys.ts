import { copyText } from "../clipboard.tsx";
import { announce } from "../elements.tsx";
import { useKeys } from "../keys.tsx";
import { addressOf, go, route } from "../router.ts";
import { listAddress, neighbours } from "./paged-list.ts";

/** Keys of a page that shows one row of a list. */
export function useRowKeys(page: "calls" | "approvals"): void {
  useKeys({
    Escape: ["Back to the list", () => go(listAddress.value[page])],
    "[": ["Older call", () => goBeside(page, 1)],
    "]": ["Newer call", () => goBeside(page, -1)],
    y: ["Copy the address", () => void copyAddress()],
  });
}

async function copyAddress(): Promise<void> {
  announce((await copyText(location.href)) ? "The address was copied" : "The browser blocks the clipboard");
}

/** Goes to a neighbour in the last displayed list. */
function goBeside(page: "calls" | "approvals", step: number): void {
  const at = neighbours.value.findIndex((call) => call?.id === route.value.name);
  const beside = at < 0 ? null : (neighbours.value[at + step] ?? null);
  if (beside === null) announce("The list has no further call");
  else go(addressOf(page, beside.id));
}
