// Keeps the page for the next visit, with or without a network. `tools/add_service_worker.sh` writes three constants above
// this text when the page is built: `version`, and the SHA-256 of every file, in `files` and in `exporter`, which holds the
// program that writes the exports.
//
// A version is kept whole or not at all: its files are fetched once, compared with their digests, and
// only then does the version count as installed. A page that is open goes on with the files of the
// version that it began with; a newer version waits until no page is open, or until a page that is
// just starting, and is the only one, lets it take over. The exporter follows when the page has been kept, both its files or
// neither; where it cannot be had the page is kept all the same, and it is tried again with the next visit or export.

const prefix = `latchkey ${self.registration.scope} `;
const cacheName = prefix + version;

async function digest(bytes) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Fetches a file and refuses it if it is not of this version, as it is while a newer one is being published. */
async function fetchFile(name, expected) {
  const address = new URL(name, self.registration.scope);
  const answer = await fetch(address, { cache: "no-cache", signal: AbortSignal.timeout(120000) });
  if (!answer.ok) throw new Error(`${address} was answered with ${answer.status}`);
  const copy = answer.clone();
  if ((await digest(await answer.arrayBuffer())) !== expected) {
    throw new Error(`${address} is not of the version ${version}`);
  }
  return [address, copy];
}

/** Keeps all of these files, or none where one of them cannot be had. */
async function keep(digests) {
  const fetched = await Promise.all(Object.entries(digests).map(([name, expected]) => fetchFile(name, expected)));
  const cache = await caches.open(cacheName);
  await Promise.all(fetched.map(([address, answer]) => cache.put(address, answer)));
}

/** Keeps the exporter, unless it is kept already or cannot be had now; two who ask at once wait for the same. */
let keeping;
function keepExporter() {
  keeping ??= (async () => {
    const cache = await caches.open(cacheName);
    const kept = await Promise.all(Object.keys(exporter).map((name) => cache.match(new URL(name, self.registration.scope))));
    if (!kept.every(Boolean)) await keep(exporter);
  })()
    .catch(() => {})
    .finally(() => (keeping = undefined));
  return keeping;
}

async function install() {
  await keep(files);
  await keepExporter();
}

/** Removes what earlier versions of this page kept; other folders of the same server have names of their own. */
async function forgetEarlierVersions() {
  const names = await caches.keys();
  const earlier = names.filter((name) => name.startsWith(prefix) && name !== cacheName);
  await Promise.all(earlier.map((name) => caches.delete(name)));
}

/** From what was kept; an exporter of another version is not handed out, as its two files may be of two. */
async function answer(request) {
  const cache = await caches.open(cacheName);
  const address = new URL(request.url);
  address.search = "";
  address.hash = "";
  if (request.mode === "navigate" && address.href === self.registration.scope) {
    address.pathname += "index.html";
  }
  const isExporter = address.href.slice(self.registration.scope.length) in exporter;
  if (isExporter) await keepExporter();
  return (await cache.match(address.href)) ?? (isExporter ? Response.error() : fetch(request));
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => {
  // The page of a first visit too is answered from here from now on.
  event.waitUntil(forgetEarlierVersions().then(() => self.clients.claim()));
});
self.addEventListener("fetch", (event) => {
  if (event.request.mode === "navigate") event.waitUntil(keepExporter());
  if (event.request.method === "GET" && event.request.url.startsWith(self.registration.scope)) {
    event.respondWith(answer(event.request));
  }
});
self.addEventListener("message", (event) => {
  if (event.data === "take over") event.waitUntil(self.skipWaiting());
});
