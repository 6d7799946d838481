// Runs the benchmark built for wasm32-wasip1 under node: `node wasm.mjs MODULE WORD...`.

import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const [path, ...words] = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args: ["search", ...words], env: {} });
const module = await WebAssembly.compile(await readFile(path));
wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
