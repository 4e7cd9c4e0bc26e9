/**
 * The functions of `fair-dice/1`, for the verifier and for the table: encoding and hashes, keys,
 * context, dice and the canonical line, each as its section of `fair-dice.md` says. They do no I/O.
 */

import { hmacSha256, sha256 } from "./sha256.js";

export const PROTOCOL = "fair-dice/1";
export const U32_MAX = 2 ** 32 - 1;
export const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * A sentence for people. As a text it is English; a page that speaks another language looks its
 * `template` up and fills the `values` in.
 */
export class Sentence {
  constructor(parts, values) {
    this.parts = parts;
    this.values = values;
  }

  /** The sentence with {0}, {1}, .. in the place of its values. */
  get template() {
    return this.parts.reduce((before, part, n) => `${before}{${n - 1}}${part}`);
  }

  toString() {
    return fill(this.template, this.values);
  }

  toJSON() {
    return String(this);
  }
}

/** @returns {string} the template with its values filled in */
export function fill(template, values) {
  return template.replace(/\{(\d+)\}/g, (_, n) => String(values[n]));
}

/** Tag of a template literal: say`seat ${1} is taken`. */
export function say(parts, ...values) {
  return new Sentence(parts, values);
}

/** What is no JSON in the sense of section 4. */
export class Malformed extends Error {
  /** @param {Sentence} sentence */
  constructor(sentence) {
    super(String(sentence));
    this.sentence = sentence;
  }
}

/** The first fault: a short code (those of `vectors.json`) and a sentence. */
export class Refused extends Malformed {
  constructor(code, sentence) {
    super(sentence);
    this.code = code;
  }
}

// --- Sections 1 and 2: encoding, hashes, keys ----------------------------------------------------

export const utf8 = new TextEncoder();

const HEX_OF_BYTE = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function hexOf(bytes) {
  let hex = "";
  for (const byte of bytes) hex += HEX_OF_BYTE[byte];
  return hex;
}

/** @param {string} hex pairs of lowercase digits, checked before */
export function bytesOf(hex) {
  const bytes = new Uint8Array(hex.length / 2);
  for (let n = 0; n < bytes.length; n++) bytes[n] = parseInt(hex.slice(2 * n, 2 * n + 2), 16);
  return bytes;
}

export function same(one, other) {
  return one.length === other.length && one.every((byte, n) => byte === other[n]);
}

/** Section 1: four bytes, big-endian. */
export function u32(number) {
  return Uint8Array.of(number >>> 24, number >>> 16, number >>> 8, number);
}

/** Section 1: each field with its length in front, so no two lists of fields look alike. */
export function enc(...fields) {
  const bytes = new Uint8Array(fields.reduce((size, field) => size + 4 + field.length, 0));
  const view = new DataView(bytes.buffer);
  let end = 0;
  for (const field of fields) {
    view.setUint32(end, field.length);
    bytes.set(field, end + 4);
    end += 4 + field.length;
  }
  return bytes;
}

const tags = new Map();

/** Section 1: "fair-dice/1/" + name; made once, since a chain has up to 65,535 links. */
export function tagOf(name) {
  if (!tags.has(name)) tags.set(name, utf8.encode(`${PROTOCOL}/${name}`));
  return tags.get(name);
}

/** Section 1: H(name, fields..). */
export function taggedHash(name, ...fields) {
  return sha256(enc(tagOf(name), ...fields));
}

/** Section 1: MAC(key, name, fields..). */
export function mac(key, name, ...fields) {
  return hmacSha256(key, enc(tagOf(name), ...fields));
}

/** Section 2: k_{i-1} = H("chain", u32(i), k_i). */
export function chainKey(number, key) {
  return taggedHash("chain", u32(number), key);
}

/** Section 2: what a seat publishes before it reveals its seed (mode sealed). */
export function clientCommit(game, seed) {
  return taggedHash("client-commit", utf8.encode(game), seed);
}

/**
 * Section 2: X, from the contributing seats only, ascending.
 * @param {Map<number, Uint8Array>} seeds by seat
 */
export function gameContext(game, commitment, seeds) {
  const seats = [...seeds.keys()].sort((one, other) => one - other);
  const fields = seats.flatMap((seat) => [u32(seat), seeds.get(seat)]);
  return taggedHash("context", utf8.encode(game), commitment, ...fields);
}

/** Section 4: what `prev` of the next entry must be. */
export function entryHash(line) {
  return taggedHash("entry", line);
}

// --- Section 3: dice -----------------------------------------------------------------------------

/** Section 3: faces with integer weights; W = `total`. */
export class Die {
  constructor(faces, weights) {
    if (!faces.every(isFace)) {
      throw new Refused("dice_def", say`a face is neither an integer nor a text`);
    }
    if (!weights.every((weight) => Number.isSafeInteger(weight) && weight >= 0)) {
      throw new Refused("dice_def", say`a weight is not an integer >= 0`);
    }
    if (faces.length !== weights.length) {
      const counts = say`a die has ${faces.length} faces, ${weights.length} weights`;
      throw new Refused("dice_def", counts);
    }
    this.faces = faces;
    this.weights = weights;
    this.total = weights.reduce((sum, weight) => sum + weight, 0);
    if (!(this.total >= 1 && this.total <= U32_MAX)) {
      throw new Refused("dice_def", say`the weights of a die do not add up to 1 .. 2^32 - 1`);
    }
    this.limit = 2 ** 32 - (2 ** 32 % this.total);
  }

  /** The first word below the limit decides, so that every number is equally likely. */
  number(words) {
    for (const word of words) {
      if (word < this.limit) return word % this.total;
    }
    throw new Error("the words never end");
  }

  /** The first face for which the weights up to it exceed the number. */
  face(number) {
    let sum = 0;
    return this.faces[this.weights.findIndex((weight) => (sum += weight) > number)];
  }
}

export function isFace(value) {
  return Number.isSafeInteger(value) || typeof value === "string";
}

/** Section 3: the 32-bit words of one die, block after block. E is the empty field. */
export function* dieWords(key, context, throwNumber, die) {
  const fields = [context, new Uint8Array(0), u32(throwNumber), u32(die)];
  for (let number = 0; ; number++) {
    const block = mac(key, "die", ...fields, u32(number));
    const view = new DataView(block.buffer, block.byteOffset);
    for (let at = 0; at < 32; at += 4) yield view.getUint32(at);
  }
}

// --- Section 4: the canonical line ---------------------------------------------------------------

/** RFC 8785 for what section 4 allows: keys sorted, no blanks, escapes where JSON demands them. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (isObject(value)) {
    const members = Object.keys(value).sort();
    return `{${members.map((key) => `"${key}":${canonical(value[key])}`).join(",")}}`;
  }
  if (typeof value === "string" && LONE_SURROGATE.test(value)) {
    throw new Malformed(say`half of a surrogate pair`);
  }
  return JSON.stringify(value);
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
