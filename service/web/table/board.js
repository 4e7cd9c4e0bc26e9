/**
 * The board: who sits at the table and what each has, and what lies on it. It reads whatever the
 * state holds, so a ruleset of a known kind needs nothing new here.
 */

import { Dice, Die, facesText } from "./dice.js";
import { calledOf, nameOf, rounds } from "./story.js";
import { language, listed, t } from "./text.js";
import { html } from "./ui.js";

/** What the scores of a game are. */
export function scoreName({ state, options }) {
  if (!state?.wins) return "f_score";
  return options.format?.first_to_lose ? "f_losses" : "f_wins";
}

/** What one seat has: pairs of a name and a value. */
function belongings(game, seat) {
  const { state, options } = game;
  const told = [];
  const add = (key, value) => value !== undefined && told.push([t(key), value]);
  const { scores, chips, bets, turn_totals: totals, covered, results, wins, choices } = state;
  const target = options.target ? ` / ${options.target}` : "";
  if (scores) add(scoreName(game), `${scores[seat]}${target}`);
  if (wins) add(scoreName(game), wins[seat]);
  if (chips) add("f_chips", chips[seat]);
  const banks = seat === state.banker;
  if (bets && !banks) {
    const bet = bets[seat];
    add("f_bet", bet === null ? t("undecided") : bet === 0 ? t("passes") : bet);
  }
  if (covered?.[seat] > 0) add("f_covered", covered[seat]);
  const total = totals?.[seat];
  if (totals) add("f_total", total === null ? "–" : total < 0 ? t("bust") : total);
  if (results && results[seat] !== null && results[seat] !== 0) {
    add("f_result", `${results[seat] > 0 ? "+" : ""}${results[seat]}`);
  }
  const choice = choices?.[seat];
  if (choice) {
    const n = choice.filter(Boolean).length;
    told.push(["", n === 0 ? t("chosen_keep") : t("chosen_again", { n })]);
  }
  return told;
}

export function Seats({ game, mine, marks, onMark }) {
  const acting = new Set(game.to_act);
  return html`<ol class="seats" aria-label=${t("seat_count")}>
    ${game.players.map((player) => {
      const { seat, kind } = player;
      const { state, options } = game;
      const progress = state?.scores && options.target;
      const classes = ["seat", acting.has(seat) && "acts", state?.out?.includes(seat) && "is-out"];
      return html`<li key=${seat} class=${classes.filter(Boolean).join(" ")} id=${`seat-${seat}`}>
        <p class="name">
          <span class=${`disc seat-${seat % 12}`} aria-hidden="true"></span>
          <strong>${kind === null ? t("open_seat") : nameOf(game, seat)}</strong>
          ${mine.has(seat) && html`<span class="tag">${t("you")}</span>`}
          ${kind === "bot" && html`<span class="tag">${t("bot")}</span>`}
          ${seat === state?.banker && html`<span class="tag gold">${t("banker")}</span>`}
          ${state?.out?.includes(seat) && html`<span class="tag">${t("out")}</span>`}
          ${acting.has(seat) && html`<span class="tag turn">${t("to_act")}</span>`}
          ${kind === "human" && player.present !== undefined && !mine.has(seat) && html`<span
            class=${player.present ? "presence here" : "presence"}>
            ${t(player.present ? "present" : "absent")}</span>`}
        </p>
        ${state && html`<dl>${belongings(game, seat).map(
          ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
        )}</dl>`}
        ${progress && html`<meter max=${options.target}
          value=${Math.min(state.scores[seat], options.target)}
          aria-label=${`${t("f_score")}, ${nameOf(game, seat)}`}></meter>`}
        ${state?.faces && html`<${Marking} game=${game} seat=${seat} mask=${marks[seat]}
          onMark=${onMark} />`}
      </li>`;
    })}
  </ol>`;
}

/** A seat's dice in a game where dice are marked to be thrown again. */
function Marking({ game, seat, mask, onMark }) {
  const { faces: all, rounds: past, choices } = game.state;
  const lies = all.some((one) => one.length > 0);
  // Between two rounds the dice of the last one stay where they fell.
  const faces = lies ? all[seat] : (past.at(-1)?.after[seat] ?? []);
  const number = game.dice.throws;
  if (!mask) {
    return html`<span class="dice">${faces.map((face, d) => html`<${Die} key=${`${number}.${d}`}
      face=${face}
      rolls=${true} marked=${lies && choices[seat]?.[d]} />`)}</span>`;
  }
  return html`<span class="dice" role="group" aria-label=${t("choose_dice")}>
    ${faces.map((face, d) => {
      const label = t(mask[d] ? "die_marked" : "die_n", { n: d + 1, face });
      const flip = () => onMark(seat, mask.map((flag, at) => (at === d ? !flag : flag)));
      return html`<button type="button" class="die-button" aria-pressed=${mask[d]}
        aria-label=${label}
        key=${`${number}.${d}`} onClick=${flip}><${Die} face=${face} marked=${mask[d]}
          rolls=${true} /></button>`;
    })}
  </span>`;
}

/** The mark beside a throw that this browser has checked, or found wrong. */
export function Check({ thrown }) {
  const right = thrown.fault === null;
  const label = t(right ? "checked_long" : "wrong_long", { n: thrown.throw });
  return html`<span class=${right ? "check" : "check bad"} role="img" aria-label=${label}
    title=${label}>
    ${right ? "✓" : "✗"} ${t(right ? "checked" : "wrong")}</span>`;
}

/** One throw in a line: dice, what they are in words, and the mark. */
export function Throw({ game, thrown, ruleset, rolls = false, small = true }) {
  const called = calledOf(ruleset, thrown.faces, language());
  return html`<span class="throw">
    <${Dice} faces=${thrown.faces} rolls=${rolls} number=${thrown.throw} small=${small} />
    <span class="in-words">${facesText(thrown.faces)}${called && html` <em>${called}</em>`}</span>
    <${Check} thrown=${thrown} />
  </span>`;
}

/** What is the same for all at the table: round, pot, limit, mark. */
function TableFacts({ game, ruleset }) {
  const { state, phase } = game;
  const names = (seats) => listed(seats.map((seat) => nameOf(game, seat)));
  const facts = [];
  if (state.chips && state.pot !== undefined) facts.push([t("pot"), state.pot]);
  if (state.limit) facts.push([t("limit"), state.limit]);
  if (state.mark) {
    const called = calledOf(ruleset, state.mark.faces, language()) ?? "";
    const series = t(`series_${state.mark.series}`);
    facts.push([t("mark"), `${facesText(state.mark.faces)} ${called} (${series})`]);
  }
  const notes = [phase && t(`phase_${phase}`)];
  if (state.last_round) notes.push(t("last_round"));
  if (state.playoff) notes.push(t("playoff", { names: names(state.playoff) }));
  if (state.must_roll) notes.push(t("must_roll"));
  if (state.tied?.length > 0) notes.push(t("tied", { names: names(state.tied) }));
  if (state.last_throw && !state.last_throw.counts) notes.push(t("void_throw"));
  return html`<div class="facts">
    <span class="tag">${t("round", { n: state.round })}</span>
    ${notes.filter(Boolean).map((note) => html`<span class="tag">${note}</span>`)}
    ${facts.map(([name, value]) => html`<span
      class="fact"><span>${name}</span> <strong>${value}</strong></span>`)}
  </div>`;
}

/** How the turn of somebody ended, in a word or two. */
function note(event) {
  switch (event.kind) {
    case "banked":
      return `+${event.points}`;
    case "settled":
      return `${event.won > 0 ? "+" : ""}${event.won}`;
    case "busted":
      return t("bust");
    case "round_won":
      return "★";
    case "pot_won":
      return `★ ${event.amount}`;
    case "knocked_out":
      return t("out");
    default:
      return "";
  }
}

/** The newest turns: the last one large, its newest throw rolling. */
export function Felt({ game, feed, ruleset }) {
  const { state } = game;
  // Where all throw together the dice lie before the seats, and here is the round.
  const together = Boolean(state?.faces);
  const all = rounds(feed.entries, feed.throws);
  const turns = (together ? all.slice(-1) : all).flatMap((one) => one.turns);
  const [last, ...before] = turns.filter((turn) => turn.throws.length > 0).reverse();
  const newest = last?.throws.at(-1);
  const rolling = state?.turn_total !== undefined && game.phase === "playing";
  const past = before.slice(0, 3);
  const shown = together ? turns : last?.throws.length > 1 ? [last, ...past] : past;
  return html`<section class="felt" aria-label=${t("throws")}>
    ${state && html`<${TableFacts} game=${game} ruleset=${ruleset} />`}
    ${newest && !together && html`<div class="newest">
      <p class="whose">${nameOf(game, last.seat)}</p>
      <${Dice} faces=${newest.faces} rolls=${true} number=${newest.throw} />
      <p class="in-words big">${facesText(newest.faces)}
        ${" "}<em>${calledOf(ruleset, newest.faces, language()) ?? ""}</em>
        ${" "}${last.notes.map((event) => html`<strong>${note(event)}</strong> `)}</p>
      <${Check} thrown=${newest} />
    </div>`}
    ${rolling && html`<p class="turn-total"><span>${t("turn_total")}</span>
      ${" "}<strong>${state.turn_total}</strong></p>`}
    <ul class="turns">
      ${shown.map((turn) => html`<${Turn} game=${game} turn=${turn} ruleset=${ruleset} />`)}
    </ul>
  </section>`;
}

function Turn({ game, turn, ruleset }) {
  return html`<li class="turn-line">
    <span class="whose">${nameOf(game, turn.seat)}</span>
    ${turn.throws.map((thrown) => html`<${Throw} game=${game} thrown=${thrown} ruleset=${ruleset}
      key=${thrown.throw} />`)}
    ${turn.notes.map((event) => html`<strong class="note">${note(event)}</strong>`)}
  </li>`;
}

/** All throws of a game, round by round. */
export function History({ game, feed, ruleset }) {
  return html`<ol class="history" tabindex="0" aria-label=${t("history")}>
    ${rounds(feed.entries, feed.throws).map(({ round, turns }, at) => html`<li key=${at}>
      <h3>${round === 0 ? t("roll_off") : t("round", { n: round })}</h3>
      <ul class="turns">${turns.map((turn) => html`<${Turn} game=${game} turn=${turn}
        ruleset=${ruleset} />`)}</ul>
    </li>`)}
  </ol>`;
}
