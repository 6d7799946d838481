// What a scenario becomes in other languages is told by a program of its own, which is loaded when it is asked for the first time.

import { fetchProgram } from "./unpack.js";

let exporter;

async function load() {
  const address = (name) => new URL(name, document.baseURI);
  const [program, bytes] = await Promise.all([import(address("exporter.js")), fetchProgram(address("exporter_bg.wasm"))]);
  await program.default({ module_or_path: bytes });
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

/** Saves an SVG as a PNG of twice its size. */
globalThis.savePng = async (svg, name) => {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = document.createElement("canvas");
  // No browser draws on more than so many pixels in one direction.
  const scale = Math.min(2, 16000 / image.height, 16000 / image.width);
  [canvas.width, canvas.height] = [image.width * scale, image.height * scale];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  const png = await new Promise((drawn) => canvas.toBlob(drawn));
  if (!png) throw new Error("too large");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(png);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
