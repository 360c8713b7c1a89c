/** `node:constants`: the constants of other modules together. */
const { os, fs, crypto } = NODE_CONSTANTS;
const groups = ["errno", "signals", "priority", "dlopen"].map((group) => os[group] as object | undefined);
export const shared: { [name: string]: unknown } = Object.assign({}, ...groups, fs, crypto);
