/**
 * The test vectors of fair-dice/1 through a verifier, in Node and in the page.
 * @param fairDice the functions of `service/web/verify.js`
 * @param vectors what `vectors.json` holds
 * @returns {{counts: Record<string, number>, failures: string[]}}
 */
export function checkVectors(fairDice, vectors) {
  const { bytesOf, hexOf } = fairDice;
  const raw = (hexes) => hexes.map(bytesOf);
  const seedsOf = (seeds) => new Map(seeds.map(({ seat, seed }) => [seat, bytesOf(seed)]));
  const jsonl = (lines) => new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
  const faultOf = ({ failure }) => (failure === null ? "none" : `${failure.seq} ${failure.code}`);

  /** All keys of a chain by number, the root last. */
  const chainOf = (root, length) => {
    const keys = [];
    keys[length] = bytesOf(root);
    for (let number = length; number > 0; number--) {
      keys[number - 1] = fairDice.chainKey(number, keys[number]);
    }
    return keys;
  };

  const refusal = (check) => {
    try {
      check();
      return "accepted";
    } catch (error) {
      if (error instanceof fairDice.Refused) return error.code;
      throw error;
    }
  };

  const recordOf = (lines, status) =>
    new TextEncoder().encode(
      JSON.stringify({
        protocol: "fair-dice/1",
        game: JSON.parse(lines[0]).game,
        status,
        log: lines,
        public_keys: [vectors.receipts[0].public_key],
        receipt: null,
      }),
    );

  /** The number that a die shows, and how many words were refused on the way. */
  const drawn = (die, words) => {
    let taken = 0;
    const counted = (function* count() {
      for (const word of words) {
        taken += 1;
        yield word;
      }
    })();
    const number = die.number(counted);
    return [number, taken - 1];
  };

  const checks = {
    enc: ({ fields, hex }) => [hexOf(fairDice.enc(...raw(fields))), hex],
    hash: ({ name, fields, hash }) => [hexOf(fairDice.taggedHash(name, ...raw(fields))), hash],
    mac: ({ key, name, fields, mac }) => [
      hexOf(fairDice.mac(bytesOf(key), name, ...raw(fields))),
      mac,
    ],
    chain: ({ root, throws_max: length, keys }) => {
      const chain = chainOf(root, length);
      return [
        Object.keys(keys)
          .map((n) => hexOf(chain[n]))
          .join(),
        Object.values(keys).join(),
      ];
    },
    root_from_key: ({ server_key: key, salt, game, root }) => [
      hexOf(fairDice.rootFromKey(bytesOf(key), bytesOf(salt), game)),
      root,
    ],
    who: ({ salt, name, who }) => [hexOf(fairDice.who(bytesOf(salt), name)), who],
    client_commit: ({ game, seed, commit }) => [
      hexOf(fairDice.clientCommit(game, bytesOf(seed))),
      commit,
    ],
    context: ({ game, commitment, seeds, context }) => [
      hexOf(fairDice.gameContext(game, bytesOf(commitment), seedsOf(seeds))),
      context,
    ],
    dice: (vector) => {
      const chain = chainOf(vector.root, vector.throws_max);
      const context = fairDice.gameContext(vector.game, chain[0], seedsOf(vector.seeds));
      const die = new fairDice.Die(vector.faces, vector.weights);
      const words = () => fairDice.dieWords(chain[vector.throw], context, vector.throw, vector.die);
      const block = [];
      for (const word of words()) {
        if (block.push(hexOf(fairDice.u32(word))) === 8) break;
      }
      const [number, rejected] = drawn(die, words());
      const due = [vector.first_block, vector.number, vector.rejected, vector.face];
      return [
        JSON.stringify([block.join(""), number, rejected, die.face(number)]),
        JSON.stringify(due),
      ];
    },
    canonical: ({ hex, value, entry_hash: hash }) => {
      const line = bytesOf(hex);
      const read = fairDice.canonical(fairDice.canonicalValue(line));
      return [`${read} ${hexOf(fairDice.entryHash(line))}`, `${fairDice.canonical(value)} ${hash}`];
    },
    not_canonical: ({ hex }) => [refusal(() => fairDice.canonicalValue(bytesOf(hex))), "canonical"],
    games: ({ lines, status, head, entries, throws }) => {
      const report = fairDice.verify(jsonl(lines));
      const shown = report.thrown.filter((thrown) => thrown.ok).length;
      return [
        [faultOf(report), report.status, report.head, report.entries, shown].join(),
        ["none", status, head, entries, throws].join(),
      ];
    },
    receipts: ({ receipt, public_key: key, valid, message }) => {
      const signed = fairDice.receiptMessage(receipt.game, receipt.seq, bytesOf(receipt.head));
      const accepted = refusal(() => fairDice.checkReceipt(receipt, [key])) === "accepted";
      return [`${accepted} ${hexOf(signed)}`, `${valid} ${message ?? hexOf(signed)}`];
    },
    forged: ({ lines, claim, receipts, public_keys: publicKeys, seq, code }) => {
      const last = JSON.parse(lines.at(-1)).type;
      const status = claim ?? (fairDice.ENDS.has(last) ? last : "playing");
      const log = fairDice.verify(jsonl(lines), { claim, receipts, publicKeys });
      const record = fairDice.verify(recordOf(lines, status), { receipts, publicKeys });
      return [`${faultOf(log)}, ${faultOf(record)}`, `${seq} ${code}, ${seq} ${code}`];
    },
  };

  const failures = [];
  const counts = {};
  for (const [kind, items] of Object.entries(vectors)) {
    if (kind === "about" || kind === "protocol") continue;
    counts[kind] = items.length;
    items.forEach((vector, n) => {
      const [found, due] = checks[kind](vector);
      if (found !== due) failures.push(`${kind} ${n} (${vector.note}): ${found}, not ${due}`);
    });
  }
  return { counts, failures };
}
