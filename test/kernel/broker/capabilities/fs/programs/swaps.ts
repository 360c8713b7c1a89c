// Swaps a folder and a file of a mount with links to the outside, and back, as fast as it can.
import { renameSync } from "node:fs";

const [folder = ""] = process.argv.slice(2);
const swap = (name: string): void => {
  renameSync(`${folder}/${name}`, `${folder}/${name}-aside`);
  renameSync(`${folder}/${name}-link`, `${folder}/${name}`);
  renameSync(`${folder}/${name}`, `${folder}/${name}-link`);
  renameSync(`${folder}/${name}-aside`, `${folder}/${name}`);
};

const parent = process.ppid;
console.log("swapping");
// Nobody else would end it, were the test killed.
while (process.ppid === parent) {
  swap("folder");
  swap("file");
}
