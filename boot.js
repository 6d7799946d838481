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

async function start() {
  const address = (id) => document.getElementById(id).href;
  const program = await import(address("program-js"));
  await program.default({ module_or_path: address("program-wasm") });
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
