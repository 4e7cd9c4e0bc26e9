/** What the log tells: events in words, and the throws of each round. */

import { facesText } from "./dice.js";
import { listed, pick, t, textOr } from "./text.js";

// What begins a round or a turn, and what is noted beside the throws of one.
const STARTS = new Set(["turn_started", "round_started", "bet_opened"]);
const NOTED = new Set([
  "banked", "busted", "score_lost", "knocked_out", "resigned", "settled", "round_won", "round_lost",
  "pot_won", "penalty_drawn",
]);

const bots = new Map();

/** Remembers what the bots of a ruleset are called. */
export function meetBots(ruleset) {
  bots.set(ruleset.key, ruleset.bots);
}

/** What a bot is called: its title, with its number where it has one. */
export function botName(ruleset, name) {
  const found = bots.get(ruleset)?.find(({ pattern }) => new RegExp(pattern).test(name));
  return found ? pick(found.title).replace(/\bN\b/, name.split(":")[1] ?? "N") : name;
}

/** How a seat is called: by its name, or by its number. */
export function nameOf(game, seat) {
  if (seat === null || seat === undefined) return t("table_throw");
  const { name, kind } = game.players[seat] ?? {};
  if (!name) return t("player", { n: seat + 1 });
  if (kind !== "bot") return name;
  const same = game.players.filter((player) => player.kind === kind && player.name === name);
  const called = botName(game.ruleset.key, name);
  return same.length > 1 ? `${called} ${seat + 1}` : called;
}

/** What a throw is called in games that have names for throws, or null. */
export function calledOf(ruleset, faces, language) {
  const sorted = [...faces].sort().join();
  const found = ruleset?.glossary.find((one) => [...one.faces].sort().join() === sorted);
  return found ? found.names[language] : null;
}

/** Which of the texts tells an event; most are called as the event is. */
function keyOf(event) {
  switch (event.kind) {
    case "rolled":
      if (event.series) return event.counts ? "e_rolled_bet" : "e_rolled_void";
      return event.points > 0 ? "e_rolled" : "e_rolled_bet";
    case "settled":
      return `e_settled_${event.won > 0 ? "won" : event.won < 0 ? "lost" : "push"}`;
    case "chose":
      return event.mask.includes(true) ? "e_chose_again" : "e_chose_keep";
    default:
      return `e_${event.kind}`;
  }
}

/** Faces by seat; seats without dice are left out. */
function rollsOf(game, seats, faces) {
  const rolls = seats.map((seat, n) => ({ name: nameOf(game, seat), faces: faces[n] }));
  const thrown = rolls.filter((one) => one.faces.length > 0);
  return thrown.map((one) => t("roll_of", { ...one, faces: facesText(one.faces) })).join(", ");
}

/** An event in words, or null if it has none. */
export function tell(event, game, called = () => null) {
  const { faces, seats = game.players.map((player) => player.seat) } = event;
  const values = { ...event, name: nameOf(game, event.seat) };
  values.names = listed(seats.map((seat) => nameOf(game, seat)));
  for (const name of ["to", "banker"]) {
    if (Number.isInteger(event[name])) values[name] = nameOf(game, event[name]);
  }
  if (event.mask) values.n = event.mask.filter(Boolean).length;
  if (event.won !== undefined) values.amount = Math.abs(event.won);
  if (event.amounts) values.amounts = event.amounts.join(", ");
  if (faces && Array.isArray(faces[0])) values.rolls = rollsOf(game, seats, faces);
  else if (faces) {
    values.faces = facesText(faces);
    const name = called(faces);
    values.called = name === null ? "" : `, ${name}`;
  }
  return textOr(null, keyOf(event), values);
}

/** An entry in words, sentence by sentence. */
export function tellEntry(entry, game, called) {
  const { type, data } = entry;
  if (type === "acted") {
    const told = data.events.map((event) => tell(event, game, called)).filter(Boolean);
    const { seat, reason } = data.action;
    return reason === "clock" ? [t("by_clock", { name: nameOf(game, seat) }), ...told] : told;
  }
  const key = type === "started" ? "e_game_started" : `e_${type}`;
  const told = textOr(null, key, { name: nameOf(game, data.seat) });
  return told === null ? [] : [told];
}

/**
 * The throws of a game, turn by turn.
 * @returns {Array<{round: number, turns: Array<{seat: number | null, throws: object[],
 *   notes: object[]}>}>} round 0 is what was thrown for the start; notes are events
 */
export function rounds(entries, throws) {
  const checked = new Map(throws.map((thrown) => [thrown.throw, thrown]));
  const told = [];
  let round = 0;
  let fresh = false;
  const turnOf = (seat) => {
    if (told.at(-1)?.round !== round) told.push({ round, turns: [] });
    const { turns } = told.at(-1);
    if (fresh || turns.at(-1)?.seat !== seat) turns.push({ seat, throws: [], notes: [] });
    fresh = false;
    return turns.at(-1);
  };
  for (const { type, data } of entries) {
    if (type !== "acted") continue;
    round = data.events.find((event) => event.kind === "table_rolled")?.round ?? round;
    for (const thrown of data.throws) {
      turnOf(thrown.seat).throws.push({ ...thrown, ...checked.get(thrown.throw) });
    }
    for (const event of data.events) {
      if (STARTS.has(event.kind)) [round, fresh] = [event.round, true];
      else if (NOTED.has(event.kind)) turnOf(event.seat).notes.push(event);
    }
  }
  return told;
}
