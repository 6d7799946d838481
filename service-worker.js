// Keeps the page for the next visit, with or without a network. `tools/add_service_worker.sh` writes
// two lines above this text when the page is built: `version`, and `files`, the SHA-256 of every file.
//
// A version is kept whole or not at all: its files are fetched once, compared with their digests, and
// only then does the version count as installed. A page that is open goes on with the files of the
// version that it began with; a newer version waits until no page is open, or until a page that is
// just starting, and is the only one, lets it take over.

const prefix = `latchkey ${self.registration.scope} `;
const cacheName = prefix + version;

async function digest(bytes) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Fetches a file and refuses it if it is not of this version, as it is while a newer one is being published. */
async function fetchFile(name) {
  const address = new URL(name, self.registration.scope);
  const answer = await fetch(address, { cache: "no-cache" });
  if (!answer.ok) throw new Error(`${address} was answered with ${answer.status}`);
  const copy = answer.clone();
  if ((await digest(await answer.arrayBuffer())) !== files[name]) {
    throw new Error(`${address} is not of the version ${version}`);
  }
  return [address, copy];
}

async function install() {
  const fetched = await Promise.all(Object.keys(files).map(fetchFile));
  const cache = await caches.open(cacheName);
  await Promise.all(fetched.map(([address, answer]) => cache.put(address, answer)));
}

/** Removes what earlier versions of this page kept; other folders of the same server have names of their own. */
async function forgetEarlierVersions() {
  const names = await caches.keys();
  const earlier = names.filter((name) => name.startsWith(prefix) && name !== cacheName);
  await Promise.all(earlier.map((name) => caches.delete(name)));
}

async function answer(request) {
  const cache = await caches.open(cacheName);
  const address = new URL(request.url);
  address.search = "";
  address.hash = "";
  if (request.mode === "navigate" && address.href === self.registration.scope) {
    address.pathname += "index.html";
  }
  return (await cache.match(address.href)) ?? fetch(request);
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(forgetEarlierVersions()));
self.addEventListener("fetch", (event) => {
  if (event.request.method === "GET" && event.request.url.startsWith(self.registration.scope)) {
    event.respondWith(answer(event.request));
  }
});
self.addEventListener("message", (event) => {
  if (event.data === "take over") event.waitUntil(self.skipWaiting());
});
