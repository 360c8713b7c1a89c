for (const file of process.argv.slice(2)) {
  console.log("program begins: " + file);
  await import("./" + file);
}