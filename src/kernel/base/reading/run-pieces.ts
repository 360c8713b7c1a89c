import { setTimeout as sleep } from "node:timers/promises";
import { HostWorkFull, type HostWorkQueue, type WorkPayer } from "../host-work-queue.ts";
import type { Pieces } from "./chunked-text.ts";

const RETRY_MS = 10;

/** The queue for work in pieces, and its payer. */
export interface PieceWork {
  readonly work: Pick<HostWorkQueue, "run">;
  readonly payer: WorkPayer;
}

/** Does work in pieces, each in its tenant's turn. Rejects with the error of a piece. */
export async function runPieces<Value>(pieces: Pieces<Value>, { work, payer }: PieceWork): Promise<Value> {
  for (;;) {
    try {
      const step = await work.run(payer, () => pieces.next());
      if (step.done === true) return step.value;
    } catch (error) {
      if (!(error instanceof HostWorkFull)) throw error;
      await sleep(RETRY_MS);
    }
  }
}
