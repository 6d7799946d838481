// Starts the page. A file of its own, not a script inside index.html, so that the content security
// policy can forbid inline scripts. Trunk.toml writes the two links that name the program's files.

import { fetchProgram } from "./unpack.js";

const page = document.getElementById("page");

/** Says in plain words, in the page's place, why there is no page. */
function explain(sentence, detail) {
  const paragraph = document.createElement("p");
  paragraph.className = "before-the-page";
  paragraph.setAttribute("role", "alert");
  paragraph.textContent = sentence;
  page.replaceChildren(paragraph);
  if (detail) {
    const reason = document.createElement("pre");
    reason.textContent = detail;
    page.append(reason);
  }
}

// Only a release build has one; without it, or in a browser that refuses it, the page works all the same.
const serviceWorker = navigator.serviceWorker && document.querySelector("meta[name=service-worker]")?.content;

/** The lock that every open page shares for as long as it is open; the browser takes it back from one that is gone. */
const openPages = `latchkey ${new URL(".", location.href)}`;

/** Lets a newer version that is ready take over, unless another page is open; says whether it did. */
async function makeWay() {
  const newer = (await navigator.serviceWorker.getRegistration())?.waiting;
  if (!newer || !navigator.locks) return false;
  // The page that a reload has left gives its lock back a moment later.
  const patience = AbortSignal.timeout(1000);
  return navigator.locks.request(openPages, { signal: patience }, () => {
    newer.postMessage("take over");
    return new Promise((done) => {
      newer.addEventListener("statechange", () => newer.state === "activated" && done(true));
      setTimeout(() => done(false), 5000);
    });
  });
}

/** Shares the lock for good; comes back when it is had. */
function joinOpenPages() {
  if (!navigator.locks) return Promise.resolve();
  return new Promise((joined) => {
    const held = navigator.locks.request(openPages, { mode: "shared" }, () => {
      joined();
      return new Promise(() => {});
    });
    held.catch(joined);
  });
}

async function start() {
  if (serviceWorker) {
    if (await makeWay().catch(() => false)) {
      location.reload();
      return;
    }
    await joinOpenPages();
  }
  const address = (id) => document.getElementById(id).href;
  const [program, bytes] = await Promise.all([import(address("program-js")), fetchProgram(address("program-wasm"))]);
  await program.default({ module_or_path: bytes });
  if (serviceWorker) navigator.serviceWorker.register(serviceWorker).catch(() => {});
}

if (typeof WebAssembly !== "object") {
  explain(
    "Latchkey needs WebAssembly, and this browser does not offer it. " +
      "It may be switched off (some browsers do so in a lockdown mode), or the browser may be older than 2017.",
  );
} else {
  start().catch((error) => {
    explain("Latchkey could not start. Loading the page again may help; if it does not, this is the reason:", String(error));
    throw error;
  });
}
