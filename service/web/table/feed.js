/**
 * A game as it goes on: its newest state, all entries of its log, and what the checker found.
 *
 * The stream brings entries the moment they are made; where it is missing or breaks, the game is
 * polled instead. Whichever way something comes, an entry is read once, in order, and checked.
 */

import { Lost, Problem, read } from "./api.js";
import { Checker } from "./checker.js";
import { held } from "./keep.js";
import { canonical } from "../fair-dice.js";

const POLL_MS = 1_000;
const HIDDEN_POLL_MS = 10_000;
// Also while the stream stands: a line can be dead without anyone having told.
const LIVE_POLL_MS = 15_000;
const STREAM_AGAIN_MS = 20_000;
const ENDED = new Set(["finished", "abandoned", "void"]);

export class Feed {
  /** @param {() => void} changed is called whenever there is something new to see */
  constructor(id, changed) {
    this.path = `/v1/games/${id}`;
    this.id = id;
    this.changed = changed;
    this.game = null;
    this.problem = null;
    this.lost = false;
    this.entries = [];
    this.throws = [];
    this.checker = new Checker(id);
    this.etag = null;
    this.running = false;
    this.wires = new AbortController();
    for (const name of ["online", "offline"]) {
      addEventListener(name, () => this[name](), { signal: this.wires.signal });
    }
    const seen = () => document.hidden || this.poll();
    document.addEventListener("visibilitychange", seen, { signal: this.wires.signal });
    this.poll();
    this.listen();
  }

  get over() {
    return this.game !== null && ENDED.has(this.game.status);
  }

  /** The first thing that is not as it must be, or null. */
  get fault() {
    return this.checker.fault;
  }

  stop() {
    this.wires.abort();
    clearTimeout(this.timer);
    clearTimeout(this.again);
    this.source?.close();
    this.source = null;
  }

  offline() {
    this.lost = true;
    this.source?.close();
    this.source = null;
    this.changed();
  }

  online() {
    this.poll();
    this.listen();
  }

  // --- the stream -------------------------------------------------------------------------------

  listen() {
    clearTimeout(this.again);
    if (this.over || this.source || this.wires.signal.aborted) return;
    const source = new EventSource(`${this.path}/stream`);
    this.source = source;
    const on = (name, take) => source.addEventListener(name, ({ data }) => take(data));
    on("open", () => this.poll());
    on("snapshot", (data) => this.see(JSON.parse(data)));
    on("entry", (data) => {
      this.enter(JSON.parse(data));
      this.poll();
    });
    on("resync", () => this.relisten(0));
    on("end", () => {
      this.relisten(STREAM_AGAIN_MS);
      this.poll();
    });
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) this.relisten(STREAM_AGAIN_MS);
      this.poll();
    };
  }

  relisten(wait) {
    this.source?.close();
    this.source = null;
    this.again = setTimeout(() => this.listen(), wait);
  }

  get streaming() {
    return this.source?.readyState === EventSource.OPEN;
  }

  // --- reading ----------------------------------------------------------------------------------

  /** Reads what is new; one reading at a time, and once more if asked meanwhile. */
  async poll() {
    this.wanted = true;
    if (this.running) return;
    this.running = true;
    while (this.wanted && !this.wires.signal.aborted) {
      this.wanted = false;
      await this.catchUp();
    }
    this.running = false;
    clearTimeout(this.timer);
    if (this.wires.signal.aborted || (this.over && !this.lost)) return;
    const wait = this.streaming ? LIVE_POLL_MS : document.hidden ? HIDDEN_POLL_MS : POLL_MS;
    this.timer = setTimeout(() => this.poll(), wait);
  }

  async catchUp() {
    try {
      const { told, etag } = await read(this.path, this.etag);
      if (told !== null) {
        this.etag = etag;
        this.see(told);
      }
      while (this.entries.length <= this.game.version) {
        const after = this.entries.length > 0 ? `&after=${this.entries.length - 1}` : "";
        const page = await read(`${this.path}/log?limit=100${after}`);
        if (page.told.entries.length === 0) break;
        page.told.entries.forEach((entry) => this.enter(entry));
      }
      this.wanted ||= this.entries.length > this.game.version + 1;
      this.compare();
      if (this.lost) this.listen();
      this.lost = false;
    } catch (error) {
      if (error instanceof Lost) this.lost = true;
      else if (error instanceof Problem) this.problem = error;
      else throw error;
    }
    this.changed();
  }

  /** A newer state of the game. */
  see(game) {
    if (this.game !== null && game.version < this.game.version) return;
    this.game = game;
    this.changed();
  }

  /** The answer to a change: the game after it, and its own entry. */
  take({ entry, game }) {
    if (entry) this.enter(entry);
    this.see(game);
    this.etag = null;
    this.poll();
  }

  /** An entry, from wherever; the same one may come twice, but not in two versions. */
  enter(entry) {
    const known = this.entries[entry.seq];
    if (known !== undefined) {
      if (canonical(known) !== canonical(entry)) this.checker.accuse(entry, "fault_two");
    } else if (entry.seq === this.entries.length) {
      const checked = this.checker.read(entry);
      this.entries.push(entry);
      this.throws.push(...checked.map((thrown) => ({ ...thrown, seq: entry.seq })));
    }
  }

  /** What the log says against what the game shows and what the server has signed before. */
  compare() {
    const { checker, game, entries } = this;
    if (entries.length !== game.version + 1) return;
    const last = entries.at(-1);
    const shown = game.dice.last_key ?? game.dice.commitment;
    const key = this.throws.at(-1)?.key ?? checker.commitment;
    if (shown !== key || game.dice.commitment !== checker.commitment) {
      checker.accuse(last, "fault_shown");
    }
    const { receipt } = held(this.id);
    if (receipt && checker.heads[receipt.seq] !== receipt.head) {
      checker.accuse(last, "fault_receipt");
    }
  }
}
