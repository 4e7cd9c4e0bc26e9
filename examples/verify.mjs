#!/usr/bin/env node
// Checks the dice of a fair-dice/1 game with SHA-256 and HMAC alone, after docs/fair-dice.md:
//
//     node verify.mjs FILE-or-URL        (a log as JSONL, or an audit record)
//
// It checks the hash chain of the entries, the key chain, the context, every face and the root. It
// takes for granted what a full verifier checks too: canonical lines, field types, life cycle,
// receipts. A last entry is only as good as a receipt for the head that is printed at the end.
import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const bytes = (hex) => Buffer.from(hex, "hex");
const need = (ok, reason) => {
  if (!ok) throw new Error(reason);
};

// Section 1: fields with their lengths, the hash H, the MAC.
const u32 = (n) => Buffer.of(n >>> 24, n >>> 16, n >>> 8, n);
const enc = (...fields) =>
  Buffer.concat(fields.map((field) => Buffer.from(field)).flatMap((f) => [u32(f.length), f]));
const hash = (name, ...fields) =>
  createHash("sha256")
    .update(enc(`fair-dice/1/${name}`, ...fields))
    .digest();
const mac = (key, name, ...fields) =>
  createHmac("sha256", key)
    .update(enc(`fair-dice/1/${name}`, ...fields))
    .digest();

// Section 3: the face of die d of throw i.
function faceOf({ faces, weights }, key, context, i, d) {
  const total = weights.reduce((sum, weight) => sum + weight);
  const limit = 2 ** 32 - (2 ** 32 % total);
  for (let b = 0; ; b++) {
    const block = mac(key, "die", context, "", u32(i), u32(d), u32(b));
    for (let at = 0; at < 32; at += 4) {
      if (block.readUInt32BE(at) >= limit) continue;
      let number = block.readUInt32BE(at) % total;
      return faces[weights.findIndex((weight) => (number -= weight) < 0)];
    }
  }
}

// Sections 2 and 4: what is known after the entries so far.
let [seq, head, throws] = [0, "0".repeat(64), 0];
let game, setup, key, context;
const [seeds, commits] = [new Map(), new Map()];

function checkThrow({ throw: i, dice, faces, key: published }) {
  need(i === throws + 1, `throw ${i} after throw ${throws}`);
  need(
    hash("chain", u32(i), bytes(published)).equals(key),
    `throw ${i} has a key of another chain`,
  );
  [throws, key] = [i, bytes(published)];
  const due = dice.map((name, d) => faceOf(setup.dice[name], key, context, i, d));
  need(String(due) === String(faces), `throw ${i} shows ${faces}, its key gives ${due}`);
}

function checkEntry(line) {
  const { type, data, ...entry } = JSON.parse(line);
  need(entry.seq === seq && entry.prev === head, "it does not follow the entry before");
  if (type === "created") [game, setup, key] = [entry.game, data, bytes(data.commitment)];
  need(entry.game === game, "an entry of another game");
  if (type === "joined") {
    need(data.saw === setup.commitment, `seat ${data.seat} saw another commitment`);
    if (data.commit !== null) commits.set(data.seat, data.commit);
    if (data.seed !== null) seeds.set(data.seat, bytes(data.seed));
  } else if (type === "seed_revealed") {
    seeds.set(data.seat, bytes(data.seed));
    const commit = hash("client-commit", game, seeds.get(data.seat)).toString("hex");
    need(commit === commits.get(data.seat), `seat ${data.seat} had committed to another seed`);
  } else if (type === "started") {
    const fields = [...seeds]
      .sort(([a], [b]) => a - b)
      .flatMap(([seat, seed]) => [u32(seat), seed]);
    context = hash("context", game, bytes(setup.commitment), ...fields);
    need(context.toString("hex") === data.context, "another context");
  } else if (type === "acted") {
    data.throws.forEach(checkThrow);
  }
  if (["finished", "abandoned", "void"].includes(type) || data.root) {
    let link = bytes(data.root ?? ""); // the root, once it is public, leads to the newest key
    for (let i = setup.throws_max; i > throws; i--) link = hash("chain", u32(i), link);
    need(link.equals(key), "the root does not lead to the commitment");
  }
  [seq, head] = [seq + 1, hash("entry", line).toString("hex")];
}

try {
  const source = process.argv[2];
  const text = /^https?:/.test(source)
    ? await (await fetch(source)).text()
    : readFileSync(source, "utf8");
  const lines = text.startsWith('{"at"') ? text.trimEnd().split("\n") : JSON.parse(text).log;
  lines.forEach(checkEntry);
  console.log(`OK: ${seq} entries, ${throws} throws, head ${head}`);
} catch (error) {
  console.log(`REFUSED at entry ${seq}: ${error.message}`);
  process.exitCode = 1;
}
