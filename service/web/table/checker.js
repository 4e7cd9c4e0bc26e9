/**
 * Checks each throw in this browser the moment it arrives: that its key hashes to the key before
 * it (the first one to the commitment), and that its faces follow from the key and the context.
 * Entry by entry it also follows the hash chain of the log. The whole audit is at `/verify`.
 */

import {
  bytesOf,
  canonical,
  chainKey,
  clientCommit,
  Die,
  dieWords,
  entryHash,
  gameContext,
  hexOf,
  same,
  utf8,
} from "../fair-dice.js";

const FIRST_PREV = "0".repeat(64);

/** What a seat commits to before it reveals its seed. */
export function commitTo(game, seed) {
  return hexOf(clientCommit(game, bytesOf(seed)));
}

/**
 * @typedef {object} Checked one throw and what this browser found
 * @property {number} throw
 * @property {number | null} seat
 * @property {Array<number | string>} faces
 * @property {string} key
 * @property {string | null} fault null if all is right, else the key of a text
 */

export class Checker {
  constructor(game) {
    this.game = game;
    this.heads = [];
    this.fault = null;
    this.throws = 0;
    this.dice = new Map();
    this.commits = new Map();
    this.seeds = new Map();
  }

  /** @returns {Checked[]} the throws of the next entry, each with its verdict */
  read(entry) {
    const due = this.heads.at(-1) ?? FIRST_PREV;
    if (entry.game !== this.game || entry.seq !== this.heads.length || entry.prev !== due) {
      this.accuse(entry, "fault_history");
    }
    this.heads.push(hexOf(entryHash(utf8.encode(canonical(entry)))));
    try {
      return this[entry.type]?.(entry.data, entry) ?? [];
    } catch (error) {
      // What can't even be computed is not what the protocol says.
      this.accuse(entry, "fault_form");
      return (entry.data?.throws ?? []).map((thrown) => ({ ...thrown, fault: "fault_form" }));
    }
  }

  /** Keeps the first fault. */
  accuse(entry, fault, number = null) {
    this.fault ??= { seq: entry.seq, fault, throw: number };
  }

  created({ commitment, dice, throws_max: most }) {
    this.commitment = commitment;
    this.key = bytesOf(commitment);
    this.most = most;
    for (const [name, { faces, weights }] of Object.entries(dice)) {
      this.dice.set(name, new Die(faces, weights));
    }
  }

  joined({ seat, saw, commit, seed }, entry) {
    if (saw !== this.commitment) this.accuse(entry, "fault_saw");
    if (commit !== null) this.commits.set(seat, commit);
    if (seed !== null) this.seeds.set(seat, bytesOf(seed));
  }

  left({ seat }) {
    this.commits.delete(seat);
  }

  seed_revealed({ seat, seed }, entry) {
    if (commitTo(this.game, seed) !== this.commits.get(seat)) this.accuse(entry, "fault_seed");
    this.seeds.set(seat, bytesOf(seed));
  }

  started({ context }, entry) {
    this.context = gameContext(this.game, bytesOf(this.commitment), this.seeds);
    if (hexOf(this.context) !== context) this.accuse(entry, "fault_context");
  }

  acted({ throws }, entry) {
    return throws.map((thrown) => {
      const fault = this.faultOf(thrown);
      if (fault !== null) this.accuse(entry, fault, thrown.throw);
      return { ...thrown, fault };
    });
  }

  faultOf({ throw: number, dice, faces, key: hex }) {
    const key = bytesOf(hex);
    const linked = number === this.throws + 1 && same(chainKey(number, key), this.key);
    this.key = key;
    this.throws = number;
    if (!linked) return "fault_key";
    const given = dice.map((name, d) => {
      const die = this.dice.get(name);
      return die.face(die.number(dieWords(key, this.context, number, d)));
    });
    const right = faces.length === given.length && faces.every((face, d) => face === given[d]);
    return right ? null : "fault_faces";
  }

  finished({ root }, entry) {
    let key = bytesOf(root);
    for (let number = this.most; number > this.throws; number--) key = chainKey(number, key);
    if (!same(key, this.key)) this.accuse(entry, "fault_root");
  }
}
