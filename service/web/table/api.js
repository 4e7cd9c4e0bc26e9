/**
 * The public API, as any client may use it. Every change carries an Idempotency-Key and is sent
 * again under the same key until it is answered, so nothing happens twice and nothing is lost.
 */

import { language } from "./text.js";

const TRIES = 30;
const LONGEST_WAIT_MS = 5_000;
const BUSY = new Set([429, 502, 503, 504]);

/** A refusal, as the server tells it (RFC 9457). */
export class Problem extends Error {
  constructor(status, told) {
    super(told.detail ?? `${status}`);
    this.status = status;
    this.told = told;
    this.code = told.code;
  }
}

/** The server could not be reached. */
export class Lost extends Error {}

function randomHex(bytes) {
  const drawn = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(drawn, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** 32 bytes from this browser: a player's part in the dice. */
export function newSeed() {
  return randomHex(32);
}

/** How far this device's clock is behind the server's, in milliseconds. */
export let clockOffset = 0;

async function exchange(path, options) {
  const headers = { accept: "application/json", "accept-language": language() };
  let answer, told;
  try {
    answer = await fetch(path, { ...options, headers: { ...headers, ...options.headers } });
    told = answer.status === 304 ? null : await answer.json();
  } catch {
    throw new Lost();
  }
  const date = Date.parse(answer.headers.get("date"));
  if (date) clockOffset = date + 500 - Date.now();
  return { answer, told };
}

/**
 * @param {string | null} etag of what is known already
 * @returns {Promise<{told: any, etag: string | null}>} `told` is null if nothing has changed
 */
export async function read(path, etag = null) {
  const headers = etag === null ? {} : { "if-none-match": etag };
  const { answer, told } = await exchange(path, { headers, cache: "no-store" });
  if (!answer.ok && answer.status !== 304) throw new Problem(answer.status, told);
  return { told, etag: answer.headers.get("etag") };
}

/** Waits longer each time, but not after the network has come back. */
function pause(wait) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, wait);
    addEventListener("online", done);
  });
}

/**
 * Changes something, safely repeated.
 * @param {object} [with_]
 * @param {string} [with_.token] who asks
 * @param {(lost: boolean) => void} [with_.waiting] is told when an answer keeps waiting
 * @returns {Promise<any>} the answer's body
 */
export async function change(path, body, { token, method = "POST", waiting = () => {} } = {}) {
  const headers = { "content-type": "application/json", "idempotency-key": randomHex(24) };
  if (token) headers.authorization = `Bearer ${token}`;
  for (let tried = 1; ; tried++) {
    let wait = Math.min(250 * 2 ** tried, LONGEST_WAIT_MS);
    try {
      const { answer, told } = await exchange(path, {
        method,
        headers,
        body: JSON.stringify(body),
      });
      if (answer.ok) return told;
      const asked = 1000 * Number(answer.headers.get("retry-after") ?? 0);
      const again = BUSY.has(answer.status) || told.code === "in_progress";
      if (!again || tried === TRIES || asked > 2 * LONGEST_WAIT_MS) {
        throw new Problem(answer.status, told);
      }
      wait = Math.max(wait, asked);
    } catch (error) {
      if (!(error instanceof Lost) || tried === TRIES) throw error;
      waiting(true);
    }
    await pause(wait);
  }
}
