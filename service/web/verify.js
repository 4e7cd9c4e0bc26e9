/**
 * Offline verifier of `fair-dice/1` logs, for browsers and for anything else that runs modules.
 *
 *     verify(bytes, { claim: "finished", receipts: [..], publicKeys: ["64 hex digits"] })
 *
 * It is written from the specification (`fair-dice.md`; "section n" below is a section of it) and
 * does no I/O. To read it: `fair-dice.js` for encoding, hashes (sections 1 and 2) and dice
 * (section 3), then here canonical lines and fields (section 4), receipts (section 5), and `Log`,
 * which takes a log entry by entry and stops at the first fault.
 *
 * The curve of Ed25519 and its SHA-512 are noble's, the same in every browser.
 */

import { Point } from "./vendor/noble-ed25519/index.js";
import { sha512 } from "./vendor/noble-hashes/sha2.js";
import {
  bytesOf,
  canonical,
  chainKey,
  clientCommit,
  Die,
  dieWords,
  enc,
  entryHash,
  fill,
  gameContext,
  hexOf,
  isFace,
  isObject,
  LONE_SURROGATE,
  mac,
  Malformed,
  PROTOCOL,
  Refused,
  same,
  say,
  Sentence,
  taggedHash,
  tagOf,
  u32,
  U32_MAX,
  utf8,
} from "./fair-dice.js";
import { hmacSha256, sha256 } from "./sha256.js";

export {
  bytesOf,
  canonical,
  chainKey,
  clientCommit,
  Die,
  dieWords,
  enc,
  entryHash,
  fill,
  gameContext,
  hexOf,
  mac,
  Malformed,
  PROTOCOL,
  Refused,
  Sentence,
  taggedHash,
  u32,
};

const SEED_MODES = new Set(["operator", "practice", "open", "sealed"]);
export const ENDS = new Set(["finished", "abandoned", "void"]);
const THROWS_MAX = 65_535;
const [TURN_SECONDS_LEAST, TURN_SECONDS_MOST, ABSENCES] = [5, 604_800, 3];
const DICE_MAX = 64;
const DEPTH_MAX = 64;
const FIRST_PREV = "0".repeat(64);
// Limits of this verifier, not of the protocol: they bound its time and memory on hostile input.
export const INPUT_MAX = 64 * 2 ** 20;
const LINE_MAX = 8 * 2 ** 20;
const CONTAINERS_MAX = 250_000;
const NOTES_MAX = 20;

export const HEX_32 = /^[0-9a-f]{64}$/;
const HEX_64 = /^[0-9a-f]{128}$/;
export const GAME_ID = /^[A-Za-z0-9_-]{1,64}$/;
const KEY_NAME = /^[a-z][a-z0-9_]*$/;
const INTEGER = /-?(?:0|[1-9][0-9]{0,15})(?![0-9.eE])/y;

/** A stranger's value: as a text it is short, in ASCII and without control characters. */
class Shown {
  constructor(value) {
    this.value = value;
  }

  toString() {
    const text = JSON.stringify(this.value).replace(
      /[^ -~]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
  }
}

function show(value) {
  return new Shown(value);
}

// --- Hashes that only a verifier needs ------------------------------------------------------------

function concat(parts) {
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let end = 0;
  for (const part of parts) {
    bytes.set(part, end);
    end += part.length;
  }
  return bytes;
}

/** Section 2: the root at rest, HKDF-SHA256 (RFC 5869) with one block of output. */
export function rootFromKey(serverKey, salt, game) {
  const info = enc(tagOf("root"), utf8.encode(game));
  return hmacSha256(hmacSha256(salt, serverKey), concat([info, Uint8Array.of(1)]));
}

/** Section 4: how a log refers to a name; whoever was given the salt can check it. */
export function who(salt, name) {
  return taggedHash("who", salt, utf8.encode(name));
}

/** A plain SHA-256 in hex, for comparing what was read; the protocol has no use for it. */
export function fingerprint(bytes) {
  return hexOf(sha256(bytes));
}

// --- Section 4: canonical lines and fields -------------------------------------------------------

const utf8Only = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(bytes) {
  try {
    return utf8Only.decode(bytes);
  } catch {
    throw new Malformed(say`not UTF-8`);
  }
}

/**
 * JSON with section 4's restrictions, in any rendering: integers within 2^53 - 1 and no other
 * numbers, keys [a-z][a-z0-9_]* and each once in its object, at most 64 levels.
 * @param {Uint8Array} bytes
 * @returns {any} objects without a prototype, so that nothing is in them but their keys
 * @throws {Malformed}
 */
export function strictJson(bytes) {
  return new JsonText(textOf(bytes)).whole();
}

/** A text of JSON and how far it is read. */
class JsonText {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.containers = 0;
  }

  whole() {
    const value = this.value(0);
    this.blanks();
    if (this.at < this.text.length) throw new Malformed(say`something stands after the JSON value`);
    return value;
  }

  value(depth) {
    this.blanks();
    switch (this.text[this.at]) {
      case "{":
        return this.object(depth + 1);
      case "[":
        return this.list(depth + 1);
      case '"':
        return this.string();
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      default:
        return this.integer();
    }
  }

  object(depth) {
    this.open(depth);
    const members = Object.create(null);
    if (this.takes("}")) return members;
    do {
      this.blanks();
      const key = this.string();
      const name = show(key);
      if (!KEY_NAME.test(key)) throw new Malformed(say`the key ${name} is not [a-z][a-z0-9_]*`);
      if (key in members) throw new Malformed(say`the key ${name} stands twice in one object`);
      this.needs(":");
      members[key] = this.value(depth);
    } while (this.takes(","));
    this.needs("}");
    return members;
  }

  list(depth) {
    this.open(depth);
    const items = [];
    if (this.takes("]")) return items;
    do items.push(this.value(depth));
    while (this.takes(","));
    this.needs("]");
    return items;
  }

  open(depth) {
    this.at += 1;
    this.containers += 1;
    if (depth > DEPTH_MAX || this.containers > CONTAINERS_MAX) {
      throw new Malformed(say`more than ${DEPTH_MAX} levels or ${CONTAINERS_MAX} containers`);
    }
  }

  string() {
    const start = this.at;
    let end = start;
    if (this.text[start] !== '"') throw new Malformed(say`not JSON at character ${start}`);
    do {
      end = this.text.indexOf('"', end + 1);
      if (end < 0) throw new Malformed(say`a text has no end`);
    } while (this.escaped(end));
    this.at = end + 1;
    try {
      return JSON.parse(this.text.slice(start, end + 1));
    } catch {
      throw new Malformed(say`not JSON at character ${start}`);
    }
  }

  /** Whether an odd number of backslashes stands before this place. */
  escaped(place) {
    let first = place;
    while (this.text[first - 1] === "\\") first -= 1;
    return (place - first) % 2 === 1;
  }

  integer() {
    INTEGER.lastIndex = this.at;
    const digits = INTEGER.exec(this.text)?.[0];
    if (digits === undefined || !Number.isSafeInteger(Number(digits))) {
      throw new Malformed(say`no value, or a number that is no integer, at character ${this.at}`);
    }
    this.at += digits.length;
    return Number(digits) + 0; // -0 is 0
  }

  word(name, value) {
    if (!this.text.startsWith(name, this.at)) {
      throw new Malformed(say`not JSON at character ${this.at}`);
    }
    this.at += name.length;
    return value;
  }

  blanks() {
    while (" \t\n\r".includes(this.text[this.at] ?? "end")) this.at += 1;
  }

  takes(mark) {
    this.blanks();
    if (this.text[this.at] !== mark) return false;
    this.at += 1;
    return true;
  }

  needs(mark) {
    if (!this.takes(mark)) throw new Malformed(say`not JSON at character ${this.at}`);
  }
}

/** Section 4: the value of a line that is its own canonical rendering. */
export function canonicalValue(line) {
  if (line.length > LINE_MAX) {
    throw new Refused("canonical", say`a line of more than ${LINE_MAX} bytes`);
  }
  try {
    const text = textOf(line);
    const value = new JsonText(text).whole();
    if (canonical(value) !== text) {
      throw new Malformed(say`the line differs from the canonical rendering of itself`);
    }
    return value;
  } catch (error) {
    if (error instanceof Malformed) throw new Refused("canonical", error.sentence);
    throw error;
  }
}

/** Section 4: each line ends with one LF, which is not hashed; no blank lines. */
function* jsonlLines(bytes) {
  for (let start = 0, end; start < bytes.length; start = end + 1) {
    end = bytes.indexOf(0x0a, start);
    if (end < 0) throw new Refused("canonical", say`the last line does not end with a line feed`);
    if (end === start) throw new Refused("canonical", say`a blank line`);
    yield bytes.subarray(start, end);
  }
}

/** The lines of an audit record, which holds them as texts. */
function* recordLines(texts) {
  for (const text of texts) {
    // An encoder would put a replacement character there and so hash other bytes.
    if (LONE_SURROGATE.test(text)) throw new Refused("canonical", say`half of a surrogate pair`);
    yield utf8.encode(text);
  }
}

function isText(value) {
  return typeof value === "string";
}

const JSON_TYPES = {
  integer: Number.isSafeInteger,
  text: isText,
  hex: isText,
  object: isObject,
  list: Array.isArray,
};

/** Section 4 (and 5: receipt): the fields of everything, with JSON types; `?` = or null. */
const FIELDS = {
  entry: {
    v: "integer",
    game: "text",
    seq: "integer",
    prev: "hex",
    at: "integer",
    type: "text",
    data: "object",
  },
  created: {
    commitment: "hex",
    throws_max: "integer",
    seed_mode: "text",
    ruleset: "object",
    options: "object",
    seats: "integer",
    dice: "object",
    root: "hex?",
  },
  joined: {
    seat: "integer",
    kind: "text",
    who: "hex?",
    saw: "hex",
    commit: "hex?",
    seed: "hex?",
  },
  left: { seat: "integer" },
  sealed: { seats: "integer" },
  seed_revealed: { seat: "integer", seed: "hex" },
  started: { context: "hex" },
  acted: { seat: "integer?", action: "object", throws: "list", events: "list" },
  finished: { outcome: "object", root: "hex?" },
  abandoned: { reason: "text", root: "hex?" },
  void: { reason: "text", root: "hex?" },
  ruleset: { key: "text", version: "integer" },
  die: { faces: "list", weights: "list" },
  action: { kind: "text" },
  event: { kind: "text" },
  throw: { throw: "integer", seat: "integer?", dice: "list", faces: "list", key: "hex" },
  receipt: {
    v: "integer",
    game: "text",
    seq: "integer",
    head: "hex",
    key_id: "text",
    sig: "text",
  },
  record: {
    protocol: "text",
    game: "text",
    status: "text",
    log: "list",
    public_keys: "list",
    receipt: "object?",
  },
};

/** Section 4: a field that may be left out. */
const OPTIONAL = { created: { turn_seconds: "integer" } };

/**
 * Section 4: every field is there with its JSON type (`true` is not `1`); section 1: 32 bytes are
 * 64 lowercase hex digits.
 * @returns {string[]} the fields that the specification does not name
 */
function unknownFields(value, what) {
  if (!isObject(value)) throw new Refused("fields", say`${what} is not an object`);
  for (const [name, kind] of Object.entries(FIELDS[what])) {
    if (!Object.hasOwn(value, name)) {
      throw new Refused("fields", say`${what} lacks the field ${name}`);
    }
    const base = kind.replace("?", "");
    if (value[name] === null && kind !== base) continue;
    if (!JSON_TYPES[base](value[name])) {
      throw new Refused("fields", say`${name} of ${what} is not of the type ${base}`);
    }
    if (base === "hex" && !HEX_32.test(value[name])) {
      throw new Refused("hex", say`${name} of ${what} is not 64 lowercase hex digits`);
    }
  }
  const optional = OPTIONAL[what] ?? {};
  for (const [name, kind] of Object.entries(optional)) {
    if (Object.hasOwn(value, name) && !JSON_TYPES[kind](value[name])) {
      throw new Refused("fields", say`${name} of ${what} is not of the type ${kind}`);
    }
  }
  const known = { ...FIELDS[what], ...optional };
  return Object.keys(value).filter((name) => !Object.hasOwn(known, name));
}

// --- Section 5: receipts; Ed25519 verification as in RFC 8032, 5.1.7 -----------------------------

const ORDER = Point.CURVE().n;

function littleEndian(bytes) {
  return BigInt(`0x${hexOf(Uint8Array.from(bytes).reverse())}`);
}

function pointOf(encoded) {
  try {
    return Point.fromBytes(encoded);
  } catch {
    return null;
  }
}

/** R must be the one encoding of [S]B - [k]A, with S < L and A not of small order. */
export function ed25519Verify(publicKey, message, signature) {
  const point = pointOf(publicKey);
  const r = signature.subarray(0, 32);
  const s = littleEndian(signature.subarray(32));
  // A key of small order accepts what nobody signed.
  if (point === null || s >= ORDER || point.isSmallOrder()) return false;
  const k = littleEndian(sha512(concat([r, publicKey, message]))) % ORDER;
  const due = Point.BASE.multiply(s, false).subtract(point.multiply(k, false));
  return same(due.toBytes(), r);
}

/** Section 5: what a receipt signs. */
export function receiptMessage(game, seq, head) {
  return enc(tagOf("head"), utf8.encode(game), u32(seq), head);
}

/** Section 5: form, key and signature of a receipt, whatever it says about a log. */
export function checkReceipt(receipt, publicKeys) {
  let unknown;
  try {
    unknown = unknownFields(receipt, "receipt");
  } catch (error) {
    throw error instanceof Refused ? new Refused("receipt_form", error.sentence) : error;
  }
  const { v, game, seq, head, key_id: keyId, sig } = receipt;
  const form = GAME_ID.test(game) && HEX_64.test(sig) && v === 1 && seq >= 0 && seq <= U32_MAX;
  if (!form || unknown.length > 0) {
    throw new Refused("receipt_form", say`the receipt is not a receipt of version 1`);
  }
  if (!publicKeys.every((key) => isText(key) && HEX_32.test(key))) {
    throw new Refused("receipt_key", say`a public key is not 64 lowercase hex digits`);
  }
  const keys = [...new Set(publicKeys)]
    .map(bytesOf)
    .filter((key) => hexOf(sha256(key)).slice(0, 16) === keyId);
  if (keys.length === 0) {
    throw new Refused("receipt_key", say`no given public key has the id of receipt ${seq}`);
  }
  const message = receiptMessage(game, seq, bytesOf(head));
  if (!keys.some((key) => ed25519Verify(key, message, bytesOf(sig)))) {
    throw new Refused("receipt_sig", say`the signature of receipt ${seq} is not valid`);
  }
}

// --- The report ----------------------------------------------------------------------------------

/** Each check of the report, with the codes that fail it. */
export const CHECKS = {
  "canonical lines": ["canonical"],
  "fields and types": ["fields", "version", "type", "hex", "record"],
  "game id": ["game"],
  "hash chain of entries": ["seq", "prev"],
  "time never decreases": ["at"],
  "life cycle": ["order", "after_end", "seat", "clock"],
  "dice definitions": ["dice_def"],
  "commitment seen by every seat": ["saw"],
  "player seeds": ["mode", "seed", "second_seed", "copied", "reveal", "not_revealed"],
  context: ["context"],
  "throw numbers": ["throw"],
  "key chain": ["key"],
  faces: ["die", "faces"],
  root: ["root"],
  claim: ["claim"],
  receipts: ["receipt", "receipt_form", "receipt_key", "receipt_sig"],
};

/**
 * @typedef {object} Failure the first fault
 * @property {number | null} seq its entry; null: the audit record around the log
 * @property {string} code
 * @property {Sentence} detail
 *
 * @typedef {object} Throw one throw as the log shows it
 * @property {number} seq
 * @property {number} throw
 * @property {number | null} seat
 * @property {string[]} dice
 * @property {(number | string)[]} faces
 * @property {boolean} ok whether its key gives the same faces
 *
 * @typedef {object} Report the verdict
 * @property {boolean} ok
 * @property {string} status finished, abandoned, void or incomplete
 * @property {string | null} game
 * @property {number} entries how many were read without fault
 * @property {number} throws how many were read without fault
 * @property {string} head the hash of the last entry read without fault
 * @property {{name: string, result: string}[]} checks passed, failed or not reached
 * @property {Failure | null} failure
 * @property {Sentence[]} notes
 * @property {Throw[]} thrown
 */

// --- The log, entry by entry ---------------------------------------------------------------------

/** Section 4: the stages of a game, and which entries may stand in each. */
const STAGES = {
  new: ["created"],
  // Mode sealed: not started; others: not sealed.
  waiting: ["joined", "left", "sealed", "started", "void"],
  sealed: ["seed_revealed", "started", "void"],
  playing: ["acted", "finished", "abandoned"],
};
const KINDS = new Set(Object.values(STAGES).flat());

/** What a log may be presented as, and the stages that bear it out. */
export const CLAIMS = new Map([
  ["incomplete", ["waiting", "sealed", "playing"]],
  ["waiting", ["waiting", "sealed"]],
  ["playing", ["playing"]],
  ...Array.from(ENDS, (end) => [end, [end]]),
]);

const TRUST = {
  operator: say`mode operator: you trust the operator not to have picked the seed`,
  practice: say`mode practice: the root was public from the start, every throw was foreseeable`,
};

/** What is known of a game after the entries read so far. */
class Log {
  game = null;
  stage = "new";
  mode = "";
  heads = [];
  at = -Number.MAX_SAFE_INTEGER;
  seats = 0;
  throwsMax = 0;
  throws = 0;
  commitment = "";
  key = new Uint8Array(0);
  context = new Uint8Array(0);
  dice = new Map();
  taken = new Set();
  commits = new Map();
  committed = new Set();
  seeds = new Map();
  turnMs = null;
  startedAt = 0;
  lastActed = []; // when each seat acted, or was acted for
  missed = [];
  gone = null; // the seat for which the clock may resign now
  thrown = [];
  notes = [];
  reached = new Set();

  /** One rule: remembered as reached, refused if it does not hold. */
  need(ok, code, sentence) {
    this.reached.add(code);
    if (!ok) throw new Refused(code, sentence);
  }

  note(sentence) {
    if (this.notes.length < NOTES_MAX) this.notes.push(sentence);
  }

  /** Section 4: inside `data` further fields are noted, not refused. */
  fields(value, what) {
    for (const name of unknownFields(value, what)) {
      this.note(say`entry ${this.heads.length}, ${what}: a further field ${show(name)}`);
    }
  }

  /** Section 4: one line, in the order canonical form, entry fields, chain, life cycle. */
  read(line) {
    const entry = canonicalValue(line);
    this.reached.add("canonical").add("fields");
    if (isObject(entry) && Number.isSafeInteger(entry.v)) {
      this.need(entry.v === 1, "version", say`version ${entry.v} is not 1`);
    }
    const [unknown] = unknownFields(entry, "entry");
    this.need(unknown === undefined, "fields", say`the entry has a further field ${unknown}`);
    const { game, seq, prev, at, type, data } = entry;
    const due = this.heads.length;
    this.need(GAME_ID.test(game), "game", say`${show(game)} is no game id`);
    const ours = this.game === null || this.game === game;
    this.need(ours, "game", say`an entry of another game, ${game}`);
    this.need(seq === due, "seq", say`seq is ${seq}, ${due} is due`);
    const linked = prev === (this.heads.at(-1) ?? FIRST_PREV);
    this.need(linked, "prev", say`prev is not the hash of the entry before`);
    this.need(at >= this.at, "at", say`the time is before that of the entry before`);
    this.need(KINDS.has(type), "type", say`there is no entry type ${show(type)}`);
    this.game = game;
    this.at = at;
    this.lifeCycle(type);
    this.fields(data, type);
    if (ENDS.has(type)) {
      this.root(data.root);
      this.stage = type;
    } else {
      this[type](data); // KINDS without ENDS are the methods below
    }
    this.heads.push(hexOf(entryHash(line)));
  }

  /** Section 4: which entry may follow which. */
  lifeCycle(type) {
    this.need(!ENDS.has(this.stage), "after_end", say`an entry after the last one`);
    if (this.stage !== "new" && (type === "sealed" || type === "seed_revealed")) {
      this.need(this.mode === "sealed", "mode", say`${type} belongs to mode sealed only`);
    }
    const unsealed = type === "started" && this.mode === "sealed" && this.stage === "waiting";
    const possible = STAGES[this.stage].includes(type) && !unsealed;
    this.need(possible, "order", say`${type} while the game is ${this.stage}`);
  }

  /** A seat of this game; null, where the fields allow it, is the table itself. */
  seat(seat) {
    const there = seat === null || (seat >= 0 && seat < this.seats);
    this.need(there, "seat", say`there is no seat ${seat}`);
  }

  /** Sections 2-4: commitment, mode, dice; the root is public in mode practice only. */
  created(data) {
    const { seed_mode: mode, seats, throws_max: throwsMax } = data;
    this.need(SEED_MODES.has(mode), "mode", say`there is no seed mode ${show(mode)}`);
    const countable = throwsMax >= 1 && throwsMax <= THROWS_MAX;
    this.need(countable, "fields", say`throws_max is not 1..${THROWS_MAX}`);
    const possible = seats >= 1 && seats <= U32_MAX;
    this.need(possible, "fields", say`seats is no possible count of seats`);
    Object.assign(this, { mode, seats, throwsMax });
    this.fields(data.ruleset, "ruleset");
    this.reached.add("dice_def");
    for (const [name, die] of Object.entries(data.dice)) {
      this.fields(die, "die");
      this.dice.set(name, new Die(die.faces, die.weights));
    }
    this.commitment = data.commitment;
    this.key = bytesOf(data.commitment);
    if (Object.hasOwn(data, "turn_seconds")) {
      const seconds = data.turn_seconds;
      const given = seconds >= TURN_SECONDS_LEAST && seconds <= TURN_SECONDS_MOST;
      this.need(given, "clock", say`turn_seconds is not 5..604800`);
      this.turnMs = 1000 * seconds;
    }
    if (mode === "practice") {
      this.root(data.root);
    } else if (data.root !== null) {
      throw new Refused("root", say`the root is public before the end`);
    }
    this.stage = "waiting";
  }

  /** Sections 2 and 4: the seat saw the commitment, and gives what the mode asks for. */
  joined(data) {
    const { seat, kind, saw, commit, seed } = data;
    this.seat(seat);
    this.need(!this.taken.has(seat), "seat", say`seat ${seat} is taken`);
    const known = kind === "human" || kind === "bot";
    this.need(known, "fields", say`kind is neither human nor bot`);
    const ours = saw === this.commitment;
    this.need(ours, "saw", say`seat ${seat} saw another commitment than that of the game`);
    const asked = { sealed: "commit", open: "seed" }[this.mode];
    for (const name of ["commit", "seed"]) {
      // A bot plays for the server, so its seed would be one that the operator picked.
      const due = data[name] === null || (name === asked && kind === "human");
      this.need(due, "seed", say`seat ${seat} gives a ${name} that is not asked for`);
    }
    if (commit !== null) {
      const copied = this.committed.has(commit);
      this.need(!copied, "copied", say`seat ${seat} has copied another seat's commit`);
      this.commits.set(seat, commit);
      this.committed.add(commit);
    }
    if (seed !== null) {
      this.need(this.seeds.size === 0, "second_seed", say`seat ${seat} gives a second seed`);
      this.seeds.set(seat, bytesOf(seed));
    }
    this.taken.add(seat);
  }

  /** Sections 2 and 4: drops the seat's commit; who gave a seed in clear cannot leave. */
  left({ seat }) {
    this.need(this.taken.has(seat), "seat", say`seat ${seat} is not taken`);
    const free = !this.seeds.has(seat);
    this.need(free, "order", say`seat ${seat} leaves after it gave its seed`);
    this.taken.delete(seat);
    this.committed.delete(this.commits.get(seat));
    this.commits.delete(seat);
  }

  /** Section 2: every seat is taken, at least one has committed. */
  sealed({ seats }) {
    this.need(seats === this.seats, "seat", say`${this.seats} seats, not ${seats}`);
    const full = this.taken.size === this.seats;
    this.need(full, "order", say`sealed before every seat was taken`);
    const committed = this.commits.size > 0;
    this.need(committed, "not_revealed", say`sealed although no seat has committed`);
    this.stage = "sealed";
  }

  /** Section 2: the seed that the seat has committed to, once. */
  seed_revealed({ seat, seed }) {
    this.seat(seat);
    const committed = this.commits.has(seat);
    this.need(committed, "reveal", say`seat ${seat} had not committed to a seed`);
    this.need(!this.seeds.has(seat), "reveal", say`seat ${seat} reveals twice`);
    const kept = hexOf(clientCommit(this.game, bytesOf(seed))) === this.commits.get(seat);
    this.need(kept, "reveal", say`seat ${seat} had committed to another seed`);
    this.seeds.set(seat, bytesOf(seed));
  }

  /** Section 2: all seats taken, all seeds in, and the context is made of exactly them. */
  started({ context }) {
    const full = this.taken.size === this.seats;
    this.need(full, "order", say`started before every seat was taken`);
    const missing = [...this.commits.keys()].filter((seat) => !this.seeds.has(seat));
    const first = missing.reduce((one, other) => Math.min(one, other), Infinity);
    const revealed = missing.length === 0;
    this.need(revealed, "not_revealed", say`started before seat ${first} revealed its seed`);
    const seeded = this.mode !== "open" || this.seeds.size > 0;
    this.need(seeded, "not_revealed", say`mode open, but no seat has given its seed`);
    this.context = gameContext(this.game, bytesOf(this.commitment), this.seeds);
    const ours = context === hexOf(this.context);
    this.need(ours, "context", say`the context is not that of this game, commitment and seeds`);
    this.startedAt = this.at;
    this.stage = "playing";
  }

  /** Section 4: an action and its throws; what the rules made of it is not read. */
  acted({ seat, action, throws, events }) {
    this.seat(seat);
    unknownFields(action, "action"); // all fields but `kind` are the ruleset's
    for (const event of events) unknownFields(event, "event");
    for (const thrown of throws) {
      this.fields(thrown, "throw");
      const typed = thrown.dice.every(isText) && thrown.faces.every(isFace);
      this.need(typed, "fields", say`a throw has a die or face of a wrong JSON type`);
    }
    for (const thrown of throws) this.throw(thrown);
    if (seat === null && Object.hasOwn(action, "reason") && action.reason === "clock") {
      this.clock(action);
      return;
    }
    this.gone = null;
    if (seat !== null) {
      this.lastActed[seat] = this.at;
      this.missed[seat] = 0;
    }
  }

  /**
   * Section 4: the table acts for a seat whose time has run out, never sooner than the turn's time
   * after that seat's last action, and resigns for it right after the third in a row. Which action
   * is the default is for who has the rules.
   */
  clock(action) {
    if (this.turnMs === null) {
      throw new Refused("clock", say`a clock acts at a table that has none`);
    }
    this.reached.add("clock");
    const seat = Object.hasOwn(action, "seat") ? action.seat : undefined;
    const named = seat === null || Number.isSafeInteger(seat);
    this.need(named, "clock", say`the clock acts for no seat`);
    this.seat(seat);
    if (seat !== null && action.kind === "resign") {
      this.need(seat === this.gone, "clock", say`the clock resigns for seat ${seat}`);
      this.gone = null;
      return;
    }
    const since = seat === null ? this.startedAt : (this.lastActed[seat] ?? this.startedAt);
    const due = this.at >= since + this.turnMs;
    this.need(due, "clock", say`the clock acts before the time has run out`);
    this.gone = null;
    if (seat !== null) {
      this.lastActed[seat] = this.at;
      this.missed[seat] = (this.missed[seat] ?? 0) + 1;
      this.gone = this.missed[seat] >= ABSENCES ? seat : null;
    }
  }

  /** Sections 2 and 3: number, key chain and every face of one throw. */
  throw({ throw: number, seat, dice, faces, key: hex }) {
    const due = this.throws + 1;
    this.need(number === due, "throw", say`throw ${number}, ${due} is due`);
    this.need(number <= this.throwsMax, "throw", say`throw ${number} is above throws_max`);
    this.seat(seat);
    const countable = dice.length >= 1 && dice.length <= DICE_MAX;
    this.need(countable, "die", say`throw ${number} has ${dice.length} dice`);
    const unknown = dice.find((name) => !this.dice.has(name));
    this.need(unknown === undefined, "die", say`the die ${show(unknown)} is not defined`);
    const key = bytesOf(hex);
    const linked = same(chainKey(number, key), this.key);
    this.need(
      linked,
      "key",
      number === 1
        ? say`the key of throw 1 does not lead to the commitment`
        : say`the key of throw ${number} does not lead to the key of throw ${number - 1}`,
    );
    const given = dice.map((name, d) => this.face(key, number, d, name));
    const ok = faces.length === given.length && faces.every((face, d) => face === given[d]);
    this.thrown.push({ seq: this.heads.length, throw: number, seat, dice, faces, ok });
    const counts = say`throw ${number} shows ${faces.length} faces for ${given.length} dice`;
    this.need(faces.length === given.length, "faces", counts);
    if (!ok) {
      const d = faces.findIndex((face, place) => face !== given[place]);
      const [one, other] = [show(faces[d]), show(given[d])];
      const sentence = say`throw ${number}, die ${d} shows ${one}, the key gives ${other}`;
      throw new Refused("faces", sentence);
    }
    this.key = key;
    this.throws = number;
  }

  /** Section 3: the face of die number `d` of a throw. */
  face(key, throwNumber, d, name) {
    const die = this.dice.get(name);
    return die.face(die.number(dieWords(key, this.context, throwNumber, d)));
  }

  /** Section 2: the revealed root leads to the newest published key, hence to all others. */
  root(root) {
    this.need(root !== null, "root", say`the root is not revealed`);
    let key = bytesOf(root);
    for (let number = this.throwsMax; number > this.throws; number--) key = chainKey(number, key);
    this.need(same(key, this.key), "root", say`the root does not lead to the commitment`);
  }

  /** A log that was cut short is only incomplete, unless it was presented as more. */
  claim(claim) {
    const holds = (CLAIMS.get(claim) ?? []).includes(this.stage);
    this.need(holds, "claim", say`presented as ${show(claim)}, but the game is ${this.stage}`);
  }

  /**
   * Section 5: the entry at the receipt's seq has the hash that was signed. An unfinished log may
   * be older than a receipt, unless the receipt came with it as `current`.
   */
  receipts(receipts, publicKeys, current) {
    const later = new Map();
    for (const receipt of receipts) {
      checkReceipt(receipt, publicKeys);
      const { game, seq, head } = receipt;
      if (game !== this.game) {
        throw new Refused("receipt", say`the receipt is of another game, ${game}`);
      }
      if (seq < this.heads.length) {
        const agrees = this.heads[seq] === head;
        this.need(agrees, "receipt", say`the log has another entry ${seq} than the receipt`);
        continue;
      }
      if (!later.has(seq)) later.set(seq, head);
      if (ENDS.has(this.stage) || current || later.get(seq) !== head) {
        throw new Refused("receipt", say`the receipt proves an entry ${seq} that is not here`);
      }
      this.note(say`the log is older than the receipt of entry ${seq}: not compared`);
    }
  }

  /**
   * What was found, with the limits of what a log can prove (section 6).
   * @returns {Report}
   */
  report(failure) {
    const ended = ENDS.has(this.stage);
    const checks = Object.entries(CHECKS).map(([name, codes]) => {
      const reached = codes.some((code) => this.reached.has(code));
      const failed = failure !== null && codes.includes(failure.code);
      return { name, result: failed ? "failed" : reached ? "passed" : "not reached" };
    });
    return {
      ok: failure === null,
      status: ended ? this.stage : "incomplete",
      game: this.game,
      entries: this.heads.length,
      throws: this.throws,
      head: this.heads.at(-1) ?? "",
      checks,
      failure,
      notes: failure === null ? [...this.limits(ended), ...this.notes] : this.notes,
      thrown: this.thrown,
    };
  }

  *limits(ended) {
    if (Object.hasOwn(TRUST, this.mode)) yield TRUST[this.mode];
    if (!ended) yield say`incomplete: the log has no last entry`;
    yield say`the rules were not replayed: actions, events, outcome are not judged here`;
    if (!this.reached.has("receipt")) {
      yield say`without a receipt, a log that was rewritten as a whole looks the same`;
    }
  }
}

// --- Verification as steps -----------------------------------------------------------------------

/**
 * @typedef {object} Given what there is besides the log
 * @property {string | null} [claim] what the log was presented as, such as "finished"
 * @property {object[]} [receipts]
 * @property {string[]} [publicKeys] each 64 hex digits
 */

/** @param own the receipt that came with the log, if any */
function* steps(log, lines, claims, receipts, publicKeys, own) {
  try {
    for (const line of lines) {
      log.read(line);
      yield log.heads.length;
    }
    log.need(log.heads.length > 0, "order", say`the log has no entries`);
    for (const claim of claims) log.claim(claim);
    log.receipts(receipts, publicKeys, false);
    log.receipts(own, publicKeys, true);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { code, sentence } = error;
    // Faults of the log as a whole are told of its last entry.
    const whole = code === "claim" || CHECKS.receipts.includes(code);
    return log.report({ seq: log.heads.length - (whole ? 1 : 0), code, detail: sentence });
  }
  return log.report(null);
}

function givenClaims(claim) {
  return claim === null || claim === undefined ? [] : [claim];
}

/**
 * A log as JSONL, the bytes as served.
 * @param {Uint8Array} bytes
 * @param {Given} given
 */
function logSteps(bytes, { claim, receipts = [], publicKeys = [] } = {}) {
  return steps(new Log(), jsonlLines(bytes), givenClaims(claim), receipts, publicKeys, []);
}

/**
 * An audit record: its status is a claim, its receipt is that of its last entry, and its own
 * public keys count only if none are given.
 * @param {Uint8Array} bytes
 * @param {Given} given
 */
function* recordSteps(bytes, { claim, receipts = [], publicKeys = [] } = {}) {
  const log = new Log();
  let record;
  try {
    record = readRecord(log, bytes);
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    return log.report({ seq: null, code: "record", detail: error.sentence });
  }
  const own = record.receipt === null ? [] : [record.receipt];
  if (publicKeys.length === 0 && own.length + receipts.length > 0) {
    log.note(say`receipts were checked with the record's own public keys: compare those`);
  }
  const keys = publicKeys.length > 0 ? publicKeys : record.public_keys;
  const claims = [record.status, ...givenClaims(claim)];
  return yield* steps(log, recordLines(record.log), claims, receipts, keys, own);
}

function readRecord(log, bytes) {
  const record = strictJson(bytes);
  for (const name of unknownFields(record, "record")) {
    log.note(say`the record has a further field ${show(name)}`);
  }
  const { protocol, game, log: lines, public_keys: keys } = record;
  log.need(protocol === PROTOCOL, "record", say`not a record of ${PROTOCOL}`);
  const form =
    GAME_ID.test(game) &&
    lines.every(isText) &&
    keys.every((key) => isText(key) && HEX_32.test(key));
  log.need(form, "record", say`its game id, a line or a public key is malformed`);
  log.game = game;
  return record;
}

const BLANKS = new Set([0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20]);

function afterBlanks(bytes, start) {
  let at = start;
  while (BLANKS.has(bytes[at])) at += 1;
  return at;
}

/** The first key of a canonical entry is `at`, and an audit record has none of an entry's keys. */
export function isRecord(bytes) {
  const brace = afterBlanks(bytes, 0);
  if (bytes[brace] !== 0x7b) return false;
  const quote = afterBlanks(bytes, brace + 1);
  if (bytes[quote] !== 0x22) return false;
  const first = String.fromCharCode(...bytes.subarray(quote + 1, quote + 6));
  return !/^(?:at|data|prev|seq|type|v)"/.test(first);
}

/**
 * The verification of a log or an audit record, whichever the bytes are, entry by entry: a page
 * can draw itself between two of them.
 * @param {Uint8Array} bytes
 * @param {Given} [given]
 * @returns {Generator<number, Report>} yields how many entries are read
 */
export function verifying(bytes, given) {
  return isRecord(bytes) ? recordSteps(bytes, given) : logSteps(bytes, given);
}

function last(entries) {
  for (;;) {
    const { done, value } = entries.next();
    if (done) return value;
  }
}

/** @returns {Report} the verdict on a log or an audit record, whichever the bytes are */
export function verify(bytes, given) {
  return last(verifying(bytes, given));
}

/** @returns {Report} */
export function verifyLog(bytes, given) {
  return last(logSteps(bytes, given));
}

/** @returns {Report} */
export function verifyRecord(bytes, given) {
  return last(recordSteps(bytes, given));
}
