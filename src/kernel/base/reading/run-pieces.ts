import { setTimeout as sleep } from "node:timers/promises";
import { HostWorkFull, type HostWorkQueue, type WorkPayer } from "../host-work-queue.ts";
import type { Pieces } from "./chunked-text.ts";

const RETRY_MS = 10;

/** Where work is done in pieces, and who pays. */
export interface PieceWork {
  readonly work: Pick<HostWorkQueue, "run">;
  readonly payer: WorkPayer;
}

/** Does work in pieces, each in its tenant's turn. Rejects with what a piece throws. */
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
