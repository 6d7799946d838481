// A release build's programs are packed: in the order that compresses best (pack/src/lib.rs has the format). Here they become
// WebAssembly again, in less than a tenth of a second.

const [BLOCK, END, BRANCH_TABLE, MEMORY, PREFIXED, TYPES, FOUR_BYTES, EIGHT_BYTES, ADDRESS, TWO_NUMBERS, SHORT] = [
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
];
// From here on an opcode is followed by one number of the stream with this place.
const ONE_NUMBER = 16;
const [REST, OPCODE, OFFSET, BLOCK_TYPE, ALIGN, FLOAT, DECLARED, ADDRESSES, ADDRESS_PLACE, OTHER] = [
  0, 1, 4, 7, 8, 10, 11, 12, 13, 14,
];
const STREAMS = 15;
// The header is read like a stream.
const HEADER = STREAMS;
const CODE_SECTION = 10;
const I32_CONST = 0x41;
const FIRST_ADDRESS = 0x100000;
const DAMAGED = "the program arrived damaged";
const AFTER_PREFIX = "000000002121212111";

// The streams are read at `place`, one behind the other; `end` is how much has been written. Both go from function to function, as
// the engines make the fastest code of that.

/** The next number of a stream. */
function read(packed, place, stream) {
  let value = 0;
  let scale = 1;
  let byte;
  do {
    byte = packed[place[stream]++];
    value += (byte & 127) * scale;
    scale *= 128;
  } while (byte > 127);
  return value;
}

/** Copies so many numbers of a stream. */
function copyNumbers(packed, place, stream, numbers, out, end) {
  let at = place[stream];
  for (; numbers > 0 && at < packed.length; numbers--) {
    let byte;
    do {
      byte = packed[at++];
      out[end++] = byte;
    } while (byte > 127);
  }
  place[stream] = at;
  return end;
}

/** Copies so many bytes of a stream. */
function copyBytes(packed, place, stream, bytes, out, end) {
  const at = place[stream];
  place[stream] += bytes;
  for (let next = at; next < at + bytes; next++) out[end++] = packed[next];
  return end;
}

function write(value, out, end) {
  for (; value > 127; value >>>= 7) out[end++] = (value & 127) | 128;
  out[end++] = value;
  return end;
}

/** Which number follows next in a stream, which is only looked at. */
function peek(packed, place, stream) {
  const at = place[stream];
  const value = read(packed, place, stream);
  place[stream] = at;
  return value;
}

/** How many numbers of `OTHER` follow an opcode. */
function numbersOf(follows, packed, place) {
  if (follows === TWO_NUMBERS) return 2;
  const first = peek(packed, place, OTHER);
  if (follows === TYPES) return 1 + first;
  if (follows === BRANCH_TABLE) return 2 + first;
  return 1 + Number(AFTER_PREFIX[first]);
}

/** Fetches a program, packed or not, and gives it as WebAssembly. */
export async function fetchProgram(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address} was answered with ${answer.status}`);
  return unpacked(new Uint8Array(await answer.arrayBuffer()));
}

/** The bytes of a program, packed or not. */
export function unpacked(packed) {
  if (String.fromCharCode(...packed.subarray(0, 4)) !== "LKP1") return packed;
  const opcodes = packed.subarray(4, 260);
  const operands = packed.subarray(260, 516);
  const place = new Uint32Array(STREAMS + 1);
  place[HEADER] = 516;
  const short = [];
  for (let left = packed[place[HEADER]++]; left > 0; left--) {
    const at = place[HEADER];
    place[HEADER] += 2 + packed[at + 1];
    short[packed[at]] = packed.subarray(at + 2, place[HEADER]);
  }
  const next = () => read(packed, place, HEADER);
  const [length, sum, head, codeLength, functions] = [next(), next(), next(), next(), next()];
  const lengths = Array.from({ length: STREAMS }, next);
  let begin = place[HEADER];
  lengths.forEach((bytes, stream) => {
    place[stream] = begin;
    begin += bytes;
  });
  if (begin !== packed.length || length > 100 * packed.length) throw new Error(DAMAGED);
  const addresses = [];
  const afterAddresses = place[ADDRESSES] + lengths[ADDRESSES];
  for (let address = FIRST_ADDRESS; place[ADDRESSES] < afterAddresses; ) {
    address += read(packed, place, ADDRESSES);
    addresses.push(address);
  }

  // Some bytes more than the program: a function is written five bytes further on, until its length is known.
  const out = new Uint8Array(length + 8);
  out.set(packed.subarray(place[REST], place[REST] + head));
  out[head] = CODE_SECTION;
  let end = write(functions, out, write(codeLength, out, head + 1));
  end = unpackFunctions(functions, { packed, place, opcodes, operands, short, addresses }, out, end);
  out.set(packed.subarray(place[REST] + head, place[REST] + lengths[REST]), end);

  const program = out.subarray(0, length);
  if (end + lengths[REST] - head !== length || adler32(program) !== sum) throw new Error(DAMAGED);
  return program;
}

function unpackFunctions(functions, { packed, place, opcodes, operands, short, addresses }, out, end) {
  let address = 0;
  for (let left = functions; left > 0; left--) {
    const begin = end;
    end += 5;
    const groups = peek(packed, place, DECLARED);
    end = copyNumbers(packed, place, DECLARED, 1 + 2 * groups, out, end);
    for (let open = 1; open > 0; ) {
      if (end > out.length) throw new Error(DAMAGED);
      const byte = packed[place[OPCODE]++];
      const opcode = opcodes[byte];
      const follows = operands[byte];
      if (follows === SHORT) {
        const bytes = short[opcode];
        for (let at = 0; at < bytes.length; at++) out[end++] = bytes[at];
        continue;
      }
      if (follows === ADDRESS) {
        const step = read(packed, place, ADDRESS_PLACE);
        address += step & 1 ? -(step + 1) / 2 : step / 2;
        end = writeAddress(addresses[address], out, end);
        continue;
      }
      out[end++] = opcode;
      if (follows >= ONE_NUMBER) {
        end = copyNumbers(packed, place, follows - ONE_NUMBER, 1, out, end);
      } else if (follows === MEMORY) {
        end = copyNumbers(packed, place, ALIGN, 1, out, end);
        end = copyNumbers(packed, place, OFFSET, 1, out, end);
      } else if (follows === BLOCK) {
        open++;
        end = copyNumbers(packed, place, BLOCK_TYPE, 1, out, end);
      } else if (follows === END) {
        open--;
      } else if (follows === FOUR_BYTES) {
        end = copyBytes(packed, place, FLOAT, 4, out, end);
      } else if (follows === EIGHT_BYTES) {
        end = copyBytes(packed, place, FLOAT, 8, out, end);
      } else if (follows) {
        end = copyNumbers(packed, place, OTHER, numbersOf(follows, packed, place), out, end);
      }
    }
    const body = write(end - begin - 5, out, begin);
    out.copyWithin(body, begin + 5, end);
    end += body - begin - 5;
  }
  return end;
}

/** The instruction that names an address of data. */
function writeAddress(address, out, end) {
  out[end++] = I32_CONST;
  // Three groups of seven bits, and nothing behind them: else the last bit would be its sign.
  for (let shift = 0; shift < 21; shift += 7) out[end++] = ((address >> shift) & 127) | 128;
  out[end++] = 0;
  return end;
}

/** RFC 1950. */
function adler32(bytes) {
  let low = 1;
  let high = 0;
  for (let at = 0; at < bytes.length; ) {
    // So many bytes at a time, as the sums stay whole numbers.
    for (const end = Math.min(at + 5552, bytes.length); at < end; at++) high += low += bytes[at];
    low %= 65521;
    high %= 65521;
  }
  return high * 65536 + low;
}
