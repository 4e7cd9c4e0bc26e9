/**
 * The page around the verifier: takes a record, shows the report. It writes texts only, never
 * markup, so nothing in a record can become more than a text.
 */

import {
  bytesOf,
  canonical,
  canonicalValue,
  chainKey,
  CHECKS,
  checkReceipt,
  CLAIMS,
  clientCommit,
  Die,
  dieWords,
  ed25519Verify,
  enc,
  ENDS,
  entryHash,
  fill,
  fingerprint,
  GAME_ID,
  gameContext,
  HEX_32,
  hexOf,
  INPUT_MAX,
  isRecord,
  mac,
  Malformed,
  receiptMessage,
  Refused,
  rootFromKey,
  strictJson,
  taggedHash,
  u32,
  verify,
  verifying,
  verifyLog,
  verifyRecord,
  who,
} from "./verify.js";
import { SENTENCES, TEXTS, WORDS } from "./verify-texts.js";

/** For whoever wants to check by hand: the verifier's functions, at the browser's console. */
globalThis.fairDice = Object.freeze({
  CHECKS,
  Die,
  ENDS,
  Refused,
  bytesOf,
  canonical,
  canonicalValue,
  chainKey,
  checkReceipt,
  clientCommit,
  dieWords,
  ed25519Verify,
  enc,
  entryHash,
  gameContext,
  hexOf,
  mac,
  receiptMessage,
  rootFromKey,
  taggedHash,
  u32,
  verify,
  verifyLog,
  verifyRecord,
  who,
});

const SHOWN_GAME = /^[^#]*\/#\/game\/([A-Za-z0-9_-]{1,64})/;
const GAME_PATH = /\/games\/[^/]+$/;
const MIB = 2 ** 20;
const THROWS_SHOWN = 200;
const SLICE_MS = 40;
const TOLD_MS = 500;
const offline = location.protocol === "file:";

const at = (id) => document.getElementById(id);

/** What the page shows now; drawn again when the language changes. */
const state = {
  language: "en",
  /** @type {() => string} */
  verdict: () => "",
  tone: "",
  /** The report, where its record came from, that record's SHA-256, and notes of this page. */
  shown: null,
  throwsShown: THROWS_SHOWN,
  /** The number of the newest check: an older one that is still at work gives up. */
  run: 0,
};

/** What a person can put right, or wait for; told in the language of the page. */
class Trouble extends Error {
  /** @param {() => string} tell */
  constructor(tell) {
    super();
    this.tell = tell;
  }
}

// --- Words ---------------------------------------------------------------------------------------

function text(name, ...values) {
  return fill(TEXTS[state.language][name], values);
}

/** A sentence of the verifier in the language of the page. */
function told(sentence) {
  const template = SENTENCES[state.language]?.[sentence.template];
  return template === undefined ? String(sentence) : fill(template, sentence.values);
}

function word(english) {
  return WORDS[state.language]?.[english] ?? english;
}

/** A stranger's text, short and without characters that are not seen. */
function plain(value) {
  const seen = String(value).replace(
    /\p{C}/gu,
    (character) => `\\u{${character.codePointAt(0).toString(16)}}`,
  );
  return seen.length <= 80 ? seen : `${seen.slice(0, 77)}...`;
}

// --- Drawing -------------------------------------------------------------------------------------

function element(name, content, properties = {}) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...[content].flat());
  return made;
}

/** A text whose direction can't spill over to what stands around it. */
function apart(content) {
  return element("bdi", content);
}

function speak(language) {
  state.language = language;
  document.documentElement.lang = language;
  document.title = `Cubilete: ${text("title")}`;
  for (const part of document.querySelectorAll("[data-text]")) {
    part.textContent = text(part.dataset.text);
  }
  for (const part of document.querySelectorAll("[data-label]")) {
    part.setAttribute("aria-label", text(part.dataset.label));
  }
  for (const button of at("languages").children) {
    button.setAttribute("aria-pressed", String(button.value === language));
  }
  const chosen = at("claim").value;
  at("claim").replaceChildren(
    element("option", text("claim_none"), { value: "" }),
    ...Array.from(CLAIMS.keys(), (claim) => element("option", word(claim), { value: claim })),
  );
  at("claim").value = chosen;
  draw();
}

/** Says how it stands, where a screen reader hears it. */
function announce(verdict, tone = "") {
  state.verdict = verdict;
  state.tone = tone;
  const sentence = verdict();
  at("verdict").className = tone;
  if (at("verdict").textContent !== sentence) at("verdict").textContent = sentence;
}

function draw() {
  announce(state.verdict, state.tone);
  at("report").hidden = state.shown === null;
  if (state.shown === null) return;
  const { report, extra } = state.shown;
  at("facts").replaceChildren(...facts(state.shown));
  at("checks").replaceChildren(...report.checks.map((done) => checkRow(done, report.ok)));
  at("throws").replaceChildren(...report.thrown.slice(0, state.throwsShown).map(throwRow));
  const left = Math.max(0, report.thrown.length - state.throwsShown);
  at("no-throws").hidden = report.thrown.length > 0;
  at("more-throws").hidden = left === 0;
  at("more-throws").textContent = text("more_throws", left);
  const notes = [...extra.map((name) => text(name)), ...report.notes.map(told)];
  at("notes").replaceChildren(...notes.map((note) => element("li", note)));
  at("notes-title").hidden = notes.length === 0;
}

function* facts({ report, source, print }) {
  const known = {
    source: apart(source()),
    game: report.game === null ? text("unknown") : element("code", report.game),
    status: word(report.status),
    entries: String(report.entries),
    throws: String(report.throws),
    head: element("code", report.head),
    fingerprint: [element("code", print.hex), ` (${text(print.agrees)})`],
  };
  for (const [name, value] of Object.entries(known)) {
    yield element("dt", text(name));
    yield element("dd", value);
  }
}

function checkRow({ name, result }, ok) {
  const [sign, key, tone] = {
    passed: ["✓", "passed", "good"],
    failed: ["✗", "failed", "bad"],
    "not reached": ["–", ok ? "nothing" : "not_reached", ""],
  }[result];
  return element("tr", [
    element("th", word(name), { scope: "row" }),
    element("td", `${sign} ${text(key)}`, { className: tone }),
  ]);
}

function throwRow({ throw: number, seq, seat, dice, faces, ok }) {
  const shown = faces.flatMap((face, d) => [
    d > 0 ? ", " : "",
    apart(plain(dice[d] ?? "?")),
    " ",
    apart(plain(face)),
  ]);
  return element("tr", [
    element("th", String(number), { scope: "row" }),
    element("td", shown),
    element("td", ok ? `✓ ${text("right")}` : `✗ ${text("wrong")}`, {
      className: ok ? "good" : "bad",
    }),
    element("td", seat === null ? text("table") : String(seat)),
    element("td", String(seq)),
  ]);
}

function verdictOf({ failure }) {
  if (failure === null) return () => text("verdict_ok");
  const { seq, code, detail } = failure;
  if (seq === null) return () => text("verdict_record", code, told(detail));
  return () => text("verdict_entry", seq, code, told(detail));
}

// --- Reading what is given -----------------------------------------------------------------------

const utf8Encoder = new TextEncoder();

/** One receipt, a list of them, or one on each line. */
function receiptsOf(pasted) {
  if (pasted.trim() === "") return [];
  try {
    return [readWholeOrLines(pasted)].flat(2);
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    throw new Trouble(() => text("receipts_bad", told(error.sentence)));
  }
}

function readWholeOrLines(pasted) {
  const json = (part) => strictJson(utf8Encoder.encode(part));
  const lines = pasted.split("\n").filter((line) => line.trim() !== "");
  try {
    return json(pasted);
  } catch (error) {
    if (lines.length < 2) throw error;
    return lines.map(json);
  }
}

function publicKeysOf(pasted) {
  const keys = pasted.split(/[\s,;]+/).filter((key) => key !== "");
  if (!keys.every((key) => HEX_32.test(key))) throw new Trouble(() => text("keys_bad"));
  return keys;
}

function given() {
  return {
    claim: at("claim").value || null,
    receipts: receiptsOf(at("receipts").value),
    publicKeys: publicKeysOf(at("keys").value),
  };
}

/**
 * Pasting loses the line feed at the end, or adds some: a log gets exactly one. No line changes.
 * @returns {[Uint8Array, string[]]} the bytes, and what is to be noted about them
 */
function pastedBytes(pasted) {
  if (pasted.trim() === "") throw new Trouble(() => text("nothing_given"));
  const bytes = utf8Encoder.encode(pasted);
  if (isRecord(bytes)) return [bytes, []];
  const ended = pasted.replace(/\n*$/, "\n");
  return [utf8Encoder.encode(ended), ended === pasted ? [] : ["line_feed_added"]];
}

function limited(size) {
  if (size > INPUT_MAX) throw new Trouble(() => text("too_large", INPUT_MAX / MIB));
}

/** The URL of a game, or of the page that shows it, stands for that of its audit record. */
function recordUrl(address) {
  const shown = SHOWN_GAME.exec(address);
  if (shown && address.startsWith(`${location.origin}/`)) return recordUrl(shown[1]);
  if (GAME_ID.test(address)) return new URL(`v1/games/${address}/audit`, location.href);
  let url;
  try {
    url = new URL(address, location.href);
  } catch {
    throw new Trouble(() => text("address_bad"));
  }
  if (url.origin !== location.origin) {
    throw new Trouble(() => text("other_origin", plain(url.href)));
  }
  url.pathname = url.pathname.replace(/\/$/, "");
  if (GAME_PATH.test(url.pathname)) url.pathname += "/audit";
  return url;
}

async function fetched(url) {
  let response;
  try {
    response = await fetch(url, {
      headers: { accept: "application/jsonl, application/json;q=0.9, */*;q=0.8" },
      cache: "no-store",
      credentials: "omit",
    });
  } catch {
    throw new Trouble(() => text("fetch_failed"));
  }
  if (!response.ok) throw new Trouble(() => text("fetch_status", response.status));
  limited(Number(response.headers.get("content-length") ?? 0));
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch {
    throw new Trouble(() => text("fetch_failed"));
  }
}

async function fileBytes(file) {
  limited(file.size);
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch {
    throw new Trouble(() => text("file_failed"));
  }
}

// --- Checking ------------------------------------------------------------------------------------

/**
 * SHA-256 of what was read: the page's own, compared with the browser's where there is one.
 * @throws {Trouble} if they differ: then nothing that this page computes is worth anything
 */
async function fingerprinted(bytes) {
  const hex = fingerprint(bytes);
  const digest = await globalThis.crypto?.subtle?.digest("SHA-256", bytes);
  if (digest === undefined) return { hex, agrees: "no_webcrypto" };
  if (hexOf(new Uint8Array(digest)) !== hex) throw new Trouble(() => text("disagrees"));
  return { hex, agrees: "agrees" };
}

function pause() {
  return new Promise((resolve) => {
    setTimeout(resolve);
  });
}

/** The end of the verification, with time for the browser in between; null if a newer one began. */
async function finished(steps, run) {
  let [sliceEnd, toldAt] = [performance.now() + SLICE_MS, performance.now()];
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    const now = performance.now();
    if (now < sliceEnd) continue;
    if (now - toldAt > TOLD_MS) {
      announce(() => text("working", value));
      toldAt = now;
    }
    await pause();
    if (run !== state.run) return null;
    sliceEnd = performance.now() + SLICE_MS;
  }
}

/**
 * Reads, verifies, shows.
 * @param {() => Promise<[Uint8Array, string[]]>} read the bytes, and what is to be noted
 * @param {() => string} source where they come from
 */
async function check(read, source) {
  state.run += 1;
  const run = state.run;
  state.shown = null;
  state.throwsShown = THROWS_SHOWN;
  draw();
  announce(() => text("reading"));
  try {
    const besides = given();
    const [bytes, extra] = await read();
    limited(bytes.length);
    const print = await fingerprinted(bytes);
    if (run !== state.run) return;
    const report = await finished(verifying(bytes, besides), run);
    if (report === null) return;
    state.shown = { report, source, print, extra };
    announce(verdictOf(report), report.ok ? "good" : "bad");
    draw();
    at("result-title").scrollIntoView({ block: "nearest" });
  } catch (error) {
    if (run === state.run) announce(error.tell ?? (() => text("broken")), "bad");
    if (!(error instanceof Trouble)) throw error;
  }
}

function checkFile(file) {
  return check(
    async () => [await fileBytes(file), []],
    () => text("source_file", plain(file.name)),
  );
}

function checkAddress(address) {
  const trimmed = address.trim();
  return check(
    async () => [await fetched(recordUrl(trimmed)), []],
    () => text("source_fetch", plain(trimmed)),
  );
}

function checkPasted() {
  return check(
    async () => pastedBytes(at("pasted").value),
    () => text("source_paste"),
  );
}

// --- What people do ------------------------------------------------------------------------------

for (const button of at("languages").children) {
  button.addEventListener("click", () => speak(button.value));
}

at("fetch-form").addEventListener("submit", (event) => {
  event.preventDefault();
  checkAddress(at("address").value);
});

at("paste-form").addEventListener("submit", (event) => {
  event.preventDefault();
  checkPasted();
});

at("file").addEventListener("change", () => {
  const [file] = at("file").files;
  if (file !== undefined) checkFile(file);
});

at("more-throws").addEventListener("click", () => {
  state.throwsShown += THROWS_SHOWN;
  draw();
});

function carriesFile(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

document.addEventListener("dragover", (event) => {
  if (!carriesFile(event)) return;
  event.preventDefault();
  document.body.classList.add("dropping");
});

for (const left of ["dragleave", "drop"]) {
  document.addEventListener(left, () => document.body.classList.remove("dropping"));
}

document.addEventListener("drop", (event) => {
  if (!carriesFile(event)) return;
  event.preventDefault();
  const [file] = event.dataTransfer.files;
  if (file !== undefined) checkFile(file);
});

/** `/verify#<game id>` checks that game at once. */
function checkFragment() {
  const id = location.hash.slice(1);
  if (offline || !GAME_ID.test(id)) return;
  at("address").value = id;
  checkAddress(id);
}

at("fetch-form").hidden = offline;
at("fetch-off").hidden = !offline;
speak(navigator.language.toLowerCase().startsWith("es") ? "es" : "en");
addEventListener("hashchange", checkFragment);
checkFragment();
