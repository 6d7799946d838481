// A search beside the page, in a worker: the same program, which the page hands over compiled. It works
// in short slices, so that it hears "pause", "resume" and "stop" between them.

let seeker;
let paused = false;

function tell(said) {
  paused = paused || seeker.is_over();
  postMessage(said);
}

function goOn() {
  if (paused) return;
  tell(seeker.go_on());
  setTimeout(goOn);
}

onmessage = async ({ data }) => {
  if (data === "pause") {
    paused = true;
  } else if (data === "resume") {
    if (!paused) return;
    paused = false;
    goOn();
  } else if (data === "stop") {
    paused = true;
    tell(seeker.stop());
  } else {
    const [module, address, text, place] = data;
    const program = await import(address);
    await program.default({ module_or_path: module });
    seeker = new program.Seeker(text, place);
    goOn();
  }
};
