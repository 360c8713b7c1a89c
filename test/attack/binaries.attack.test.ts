import { findJail } from "../../src/kernel/broker/jail/jail.ts";
import { attack } from "./harness.ts";
import { SCENES } from "./scenes/binaries.ts";

const jail = await findJail();
const unless = process.arch !== "x64" ? `they are for x64, and this is ${process.arch}` : undefined;
const reason = "reason" in jail ? jail.reason : unless;

attack("binaries", {
  scenes: { file: "binaries", names: SCENES.map(({ name }) => name) },
  ...(reason === undefined ? {} : { unless: reason }),
});
