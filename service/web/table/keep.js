/**
 * What this browser remembers: its language and name, and for each game the tokens it was given.
 * A browser that lets nothing be kept works all the same, until the page is left.
 */

const memory = new Map();
const PREFIX = "cubilete.";
const GAMES_MAX = 50;

export function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name)) ?? memory.get(name) ?? null;
  } catch {
    return memory.get(name) ?? null;
  }
}

export function keep(name, value) {
  memory.set(name, value);
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Storage is full or forbidden: the page's own memory has it.
  }
}

/**
 * @typedef {object} Held what this browser holds of a game
 * @property {string} [host] the host's token
 * @property {Object<string, string>} seats tokens by seat
 * @property {Object<string, string>} seeds seeds by seat that are yet to be revealed
 * @property {{seq: number, head: string}} [receipt] the newest head that the server signed
 * @property {string} ruleset
 */

/** @returns {Held} */
export function held(game) {
  const { seats = {}, seeds = {}, ...more } = (kept("games") ?? {})[game] ?? {};
  return { seats, seeds, ...more };
}

/** Adds to what is held of a game; the newest games are remembered. */
export function hold(game, more) {
  const before = held(game);
  const { [game]: _, ...others } = kept("games") ?? {};
  const next = {
    ...before,
    ...more,
    seats: { ...before.seats, ...more.seats },
    seeds: { ...before.seeds, ...more.seeds },
    at: Date.now(),
  };
  const newest = Object.entries({ ...others, [game]: next })
    .sort(([, one], [, other]) => other.at - one.at)
    .slice(0, GAMES_MAX);
  keep("games", Object.fromEntries(newest));
}

/** Gives a seat up. */
export function drop(game, seat) {
  const games = kept("games") ?? {};
  delete games[game]?.seats[seat];
  keep("games", games);
}

/** The games in which this browser has a part, newest first. */
export function myGames() {
  return Object.entries(kept("games") ?? {})
    .filter(([, { host, seats }]) => host || Object.keys(seats ?? {}).length > 0)
    .map(([id, more]) => ({ id, ...more }));
}
