// The picture as a file of its own: each shape gets what the style sheets say of it. Called by the program, which has drawn the whole
// picture by then.

const said = [
  "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "paint-order",
  "font-family", "font-size", "font-weight", "font-style", "letter-spacing", "text-anchor",
];

/** A copy of an element with its looks written into it. */
function withLooks(element) {
  const copy = element.cloneNode(true);
  const copies = [copy, ...copy.querySelectorAll("*")];
  [element, ...element.querySelectorAll("*")].forEach((original, place) => {
    const looks = getComputedStyle(original);
    for (const name of said) {
      const value = looks.getPropertyValue(name);
      if (value && !copies[place].hasAttribute(name)) copies[place].setAttribute(name, value.replaceAll('"', "'"));
    }
    for (const name of ["class", "id", "role", "tabindex", "data-part"]) {
      if (copies[place] !== copy && original.id !== "hatch-stale") copies[place].removeAttribute(name);
    }
  });
  return copy;
}

/** The picture as the text of an SVG file. */
function pictureAsSvg() {
  const heads = document.querySelector(".picture__heads");
  const time = document.querySelector(".picture__time");
  const [width, high, long] = [+time.getAttribute("width"), +heads.getAttribute("height"), +time.getAttribute("height")];
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  svg.setAttribute("width", width);
  svg.setAttribute("height", high + long);
  svg.setAttribute("viewBox", `0 0 ${width} ${high + long}`);
  const ground = document.createElementNS(svg.namespaceURI, "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", getComputedStyle(heads).backgroundColor);
  const below = withLooks(time);
  below.setAttribute("y", high);
  svg.append(withLooks(document.getElementById("hatch-stale")), ground, withLooks(heads), below);
  return new XMLSerializer().serializeToString(svg);
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Saves the picture as an SVG or, where the name ends so, as a PNG of twice its size; false where it could not. */
globalThis.savePicture = async (name) => {
  const svg = new Blob([pictureAsSvg()], { type: "image/svg+xml" });
  if (!name.endsWith(".png")) return save(svg, name);
  const image = new Image();
  image.src = URL.createObjectURL(svg);
  await image.decode();
  const canvas = document.createElement("canvas");
  // No browser draws on more than so many pixels in one direction.
  const scale = Math.min(2, 16000 / image.height, 16000 / image.width);
  [canvas.width, canvas.height] = [image.width * scale, image.height * scale];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  const png = await new Promise((drawn) => canvas.toBlob(drawn));
  if (!png) throw new Error("too large");
  save(png, name);
};
