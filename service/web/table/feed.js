/**
 * A game as it goes on: its newest state, all entries of its log, and what the checker found.
 *
 * The stream brings entries the moment they are made, and shows others that this player is here;
 * where it is missing or breaks, the game is polled instead. Whichever way something comes, an
 * entry is read once, in order, and checked.
 */

import { Lost, Problem, read } from "./api.js";
import { Checker } from "./checker.js";
import { held } from "./keep.js";
import { canonical } from "../fair-dice.js";

const POLL_MS = 1_000;
const HIDDEN_POLL_MS = 10_000;
const LIVE_POLL_MS = 30_000;
// The server says something every ten seconds; a line that is silent for longer is dead.
const SILENCE_MS = 25_000;
const LISTEN_AGAIN_MS = 1_000;
const NO_STREAM_MS = 30_000;
// A page that nobody sees leaves its line to others: browsers have few for each server.
const UNSEEN_MS = 20_000;
const LINES = "application/x-ndjson";
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
    this.line = null;
    this.again = null;
    this.streaming = false;
    this.present = null;
    this.wires = new AbortController();
    for (const name of ["online", "offline"]) {
      addEventListener(name, () => this[name](), { signal: this.wires.signal });
    }
    document.addEventListener("visibilitychange", () => this.seen(), { signal: this.wires.signal });
    this.poll();
  }

  get over() {
    return this.game !== null && ENDED.has(this.game.status);
  }

  get complete() {
    return this.game !== null && this.entries.length === this.game.version + 1;
  }

  /** The first thing that is not as it must be, or null. */
  get fault() {
    return this.checker.fault;
  }

  stop() {
    this.wires.abort();
    this.hangUp();
    clearTimeout(this.timer);
    clearTimeout(this.unseen);
  }

  offline() {
    this.lost = true;
    this.hangUp();
    this.changed();
  }

  online() {
    this.poll();
  }

  seen() {
    clearTimeout(this.unseen);
    if (document.hidden) this.unseen = setTimeout(() => this.hangUp(), UNSEEN_MS);
    else this.poll();
  }

  // --- the stream -------------------------------------------------------------------------------

  hangUp() {
    this.line?.abort();
    this.line = null;
    this.streaming = false;
    this.present = null;
    clearTimeout(this.again);
    this.again = null;
  }

  /** The token that says who listens, so that others see that this player is here. */
  get token() {
    const { host, seats } = held(this.id);
    return this.game.hotseat && host ? host : Object.values(seats)[0];
  }

  /** Listens until the line breaks, then again; anew with the token of a seat taken meanwhile. */
  async listen() {
    if (this.line && this.token !== this.listensAs) this.hangUp();
    const idle = this.over || document.hidden || this.wires.signal.aborted;
    if (idle || this.line || this.again) return;
    const line = new AbortController();
    this.line = line;
    this.listensAs = this.token;
    let wait = LISTEN_AGAIN_MS;
    try {
      wait = await this.hear(line);
    } catch {
      this.poll();
    }
    if (this.line !== line) return;
    this.hangUp();
    this.again = setTimeout(() => {
      this.again = null;
      this.listen();
    }, wait);
  }

  /** @returns {Promise<number>} how long to wait before listening again, once the line has ended */
  async hear(line) {
    const token = this.listensAs;
    const headers = { accept: LINES, ...(token && { authorization: `Bearer ${token}` }) };
    const after = this.entries.length - 1;
    const options = { headers, signal: line.signal, cache: "no-store" };
    const answer = await fetch(`${this.path}/stream?after=${after}`, options);
    if (!answer.ok || !answer.headers.get("content-type").startsWith(LINES)) {
      line.abort();
      return NO_STREAM_MS;
    }
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    this.streaming = true;
    for (let text = ""; ; ) {
      const silent = setTimeout(() => line.abort(), SILENCE_MS);
      const { done, value } = await reader.read();
      clearTimeout(silent);
      if (done) return LISTEN_AGAIN_MS;
      const lines = (text + value).split("\n");
      text = lines.pop();
      lines.filter(Boolean).forEach((told) => this.heard(JSON.parse(told)));
    }
  }

  heard({ event, data }) {
    if (event === "snapshot") this.see(data);
    if (event === "presence") this.meet(data.present);
    if (event === "entry") this.enter(data);
    if (event === "entry" || event === "end") this.poll();
  }

  /** Who is there now: what the line says goes before an answer that was asked for earlier. */
  meet(present) {
    this.present = present;
    this.see(this.game);
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
    if (this.wires.signal.aborted || (this.over && !this.lost && this.complete)) return;
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
      this.lost = false;
      this.problem = null;
      this.listen();
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
    const met = (one) => ({ ...one, present: this.present.includes(one.seat) });
    this.game = this.present === null ? game : { ...game, players: game.players.map(met) };
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
    if (!this.complete) return;
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
