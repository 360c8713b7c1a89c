import { wasi } from "@bjorn3/browser_wasi_shim";
import { expect, test } from "vitest";
import { CallFiles } from "../../src/guest/wasi/files.ts";

test("a file's length without a sign gives back no more room than it has taken", () => {
  const files = new CallFiles(1_000);
  const file = files.root.path_open(0, "out/x", wasi.OFLAGS_CREAT, 0n, 0n, 0).fd_obj;
  const size = (length: bigint): number | undefined => file?.fd_filestat_set_size(length);
  expect(size(1_000n)).toBe(wasi.ERRNO_SUCCESS);
  expect(size(-(2n ** 62n))).toBe(wasi.ERRNO_INVAL);
  expect(size(1_000_000_000n)).toBe(wasi.ERRNO_NOSPC);
  expect(size(0n)).toBe(wasi.ERRNO_SUCCESS);
});
