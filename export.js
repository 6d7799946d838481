// What a scenario becomes in other languages is told by a program of its own, which is loaded when it is asked for the first time.

let exporter;

async function load() {
  const program = await import(new URL("exporter.js", document.baseURI));
  await program.default();
  return program;
}

/** The text in a format, and why there is none: one of the two is missing. */
globalThis.exportText = async (text, format, holds) => {
  exporter ??= load();
  let program;
  try {
    program = await exporter;
  } catch {
    // The next time it may be there.
    exporter = undefined;
    return [undefined, "the program that writes it could not be loaded"];
  }
  try {
    return [program.exported(text, format, holds)];
  } catch (why) {
    return [undefined, String(why)];
  }
};
