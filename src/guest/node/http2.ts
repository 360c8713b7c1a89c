import type { NodeModule } from "./inner/library.ts";

/** `node:http2`: its constants, which packages for HTTP read. */
export const shared: NodeModule = { constants: NODE_CONSTANTS.http2, sensitiveHeaders: Symbol("sensitiveHeaders") };
