// Starts the page. A file of its own, not a script inside index.html, so that the content security
// policy can forbid inline scripts. Trunk.toml writes the two links that name the program's files.

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

/** Lets a newer version that is ready take over, while nothing runs here yet; says whether it did. */
async function makeWay() {
  const newer = (await navigator.serviceWorker.getRegistration())?.waiting;
  if (!newer) return false;
  const channel = new MessageChannel();
  const done = new Promise((resolve) => {
    channel.port1.onmessage = (message) => message.data || resolve(false);
    navigator.serviceWorker.addEventListener("controllerchange", () => resolve(true), { once: true });
    setTimeout(() => resolve(false), 3000);
  });
  newer.postMessage("take over", [channel.port2]);
  return done;
}

async function start() {
  if (serviceWorker && (await makeWay().catch(() => false))) {
    location.reload();
    return;
  }
  const address = (id) => document.getElementById(id).href;
  const program = await import(address("program-js"));
  await program.default({ module_or_path: address("program-wasm") });
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
