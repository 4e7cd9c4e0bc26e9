// Checks a log or an audit record of fair-dice/1 after docs/fair-dice.md: node verify.mjs FILE
// Canonical lines, field types, life cycle and receipts are left to `cubilete verify`.
import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const bytes = (hex) => Buffer.from(hex, "hex"); // section 1
const u32 = (n) => Buffer.of(n >>> 24, n >>> 16, n >>> 8, n);
const field = (value) => [u32(Buffer.from(value).length), Buffer.from(value)];
const enc = (name, fields) => Buffer.concat([`fair-dice/1/${name}`, ...fields].flatMap(field));
const hash = (name, ...fields) => createHash("sha256").update(enc(name, fields)).digest();
const mac = (key, name, ...fields) => createHmac("sha256", key).update(enc(name, fields)).digest();
const need = (ok, why) => ok || process.exit(console.log(`REFUSED at entry ${seq}: ${why}`) ?? 1);

let [seq, head, throws, game, setup, key, context] = [0, "0".repeat(64), 0];
const players = []; // the last `joined` of each seat

function faceOf({ faces, weights }, i, d) { // section 3: die d of throw i
  const total = weights.reduce((sum, weight) => sum + weight);
  for (let at = 0, block; ; at += 4) {
    if (at % 32 === 0) block = mac(key, "die", context, "", u32(i), u32(d), u32(at / 32));
    const word = block.readUInt32BE(at % 32);
    if (word >= 2 ** 32 - (2 ** 32 % total)) continue;
    let number = word % total;
    return faces[weights.findIndex((weight) => (number -= weight) < 0)];
  }
}
function checkThrow({ throw: i, dice, faces, key: next }) { // section 2
  need(hash("chain", u32(i), bytes(next)).equals(key), `throw ${i} has a key of another chain`);
  [throws, key] = [i, bytes(next)];
  const due = dice.map((name, d) => faceOf(setup.dice[name], i, d));
  need(`${due}` === `${faces}`, `throw ${i} shows ${faces}, its key gives ${due}`);
}
function checkEntry(line) { // section 4
  const { type, data, ...entry } = JSON.parse(line);
  need(entry.seq === seq && entry.prev === head, "it does not follow the entry before");
  if (type === "created") [game, setup, key] = [entry.game, data, bytes(data.commitment)];
  need(entry.game === game, "an entry of another game");
  if (type === "joined") {
    need(data.saw === setup.commitment, `seat ${data.seat} saw another commitment`);
    players[data.seat] = data;
  } else if (type === "seed_revealed") {
    const commit = hash("client-commit", game, bytes(data.seed)).toString("hex");
    need(commit === players[data.seat].commit, `seat ${data.seat} had committed to another seed`);
    players[data.seat].seed = data.seed;
  } else if (type === "started") {
    const parts = players.flatMap(({ seat, seed }) => (seed ? [u32(seat), bytes(seed)] : []));
    context = hash("context", game, bytes(setup.commitment), ...parts);
    need(context.toString("hex") === data.context, "another context");
  } else if (type === "acted") data.throws.forEach(checkThrow);
  if (data.root || ["finished", "abandoned", "void"].includes(type)) {
    let link = bytes(data.root ?? ""); // hashed down the chain it is the newest key
    for (let i = setup.throws_max; i > throws; i--) link = hash("chain", u32(i), link);
    need(link.equals(key), "the root does not lead to the commitment");
  }
  [seq, head] = [seq + 1, hash("entry", line).toString("hex")];
}

const text = readFileSync(process.argv[2], "utf8");
(text.startsWith('{"at"') ? text.trimEnd().split("\n") : JSON.parse(text).log).forEach(checkEntry);
console.log(`OK: ${seq} entries, ${throws} throws, head ${head}`);
