/** A table: before the start, in play and at its end. */

import { change, clockOffset, newSeed, Problem, read } from "./api.js";
import { Felt, History, scoreName, Seats, Throw } from "./board.js";
import { commitTo } from "./checker.js";
import { act, choices, Controls, seatsOf } from "./controls.js";
import { Feed } from "./feed.js";
import { drop, held as heldOf, hold, keep, kept } from "./keep.js";
import { Rules, useRuleset } from "./lobby.js";
import { calledOf, nameOf, tellEntry } from "./story.js";
import { language, listed, pick, t, textOr } from "./text.js";
import { Copyable, Fold, html, useEffect, useRef, useState } from "./ui.js";

const LOG_SHOWN = 60;
const AT_ONCE = 8;

/** The address of a game, with the tokens that let another device play on. */
function linkTo(id, held = null) {
  const base = `${location.origin}${location.pathname}#/game/${id}`;
  if (held === null) return base;
  const tokens = Object.entries(held.seats).map(([seat, token]) => `${seat}=${token}`);
  if (held.host) tokens.push(`host=${held.host}`);
  return `${base}/${tokens.join("&")}`;
}

export function Game({ id }) {
  const [, redraw] = useState(0);
  const [feed, setFeed] = useState(null);
  useEffect(() => {
    const made = new Feed(id, () => redraw((n) => n + 1));
    setFeed(made);
    return () => made.stop();
  }, [id]);
  if (!feed || feed.id !== id || (!feed.game && !feed.problem)) {
    return html`<main><p role="status">${feed?.lost ? t("lost") : t("loading")}</p></main>`;
  }
  if (!feed.game) {
    return html`<main><p
      role="alert">${feed.problem.status === 404 ? t("not_found") : feed.problem.message}</p>
      <p><a href="#/">${t("to_lobby")}</a></p></main>`;
  }
  return html`<${TableView} feed=${feed} key=${id} />`;
}

function TableView({ feed }) {
  const { game } = feed;
  const held = heldOf(game.id);
  const ruleset = useRuleset(game.ruleset.key);
  const [message, tell] = useState(null);
  const [busy, setBusy] = useState(false);
  const [rules, setRules] = useState(false);
  const [marks, setMarks] = useMarks(game, held);
  useReveal(feed, held, tell);
  const mine = seatsOf(game, held);
  const called = (faces) => calledOf(ruleset, faces, language());
  const playing = game.status === "playing";
  const due = playing && game.to_act.some((seat) => mine.has(seat));
  useEffect(() => {
    document.title = `${due ? "● " : ""}${ruleset ? pick(ruleset.title) : "Cubilete"}`;
    return () => (document.title = "Cubilete");
  });
  return html`<main class="table" data-version=${game.version}>
    <h1 class="title"><span>${ruleset ? pick(ruleset.title) : ""}</span>
      ${ruleset && html`<button class="plain"
        onClick=${() => setRules(true)}>${t("rules")}</button>`}
      ${" "}<a class="button plain" id="audit" href=${`/verify#${game.id}`}
        target="_blank">${t("audit")}</a></h1>
    ${rules && html`<${Rules} ruleset=${ruleset} onClose=${() => setRules(false)} />`}
    ${feed.fault && html`<${Alarm} feed=${feed} />`}
    <p class="connection" role="status">${feed.lost ? t("lost") : feed.problem?.message}</p>
    ${message && html`<p class="message" role="alert">${message}</p>`}
    <div class="columns">
      <div class="board">
        ${playing && html`<${Headline} game=${game} mine=${mine} />`}
        ${feed.over && html`<${EndCard} feed=${feed} held=${held} ruleset=${ruleset}
          tell=${tell} />`}
        ${game.status === "waiting" && html`<${Waiting} feed=${feed} held=${held} tell=${tell} />`}
        <${Seats} game=${game} mine=${mine} marks=${marks} onMark=${setMarks} />
        ${feed.throws.length > 0 && !feed.over && html`<${Felt} game=${game} feed=${feed}
          ruleset=${ruleset} />`}
        ${playing && html`<${Controls} feed=${feed} held=${held} marks=${marks} tell=${tell}
          busy=${busy}
          onBusy=${setBusy} />`}
        ${playing && mine.size === 0 && html`<p class="soft">${t("you_watch")}</p>`}
      </div>
      <aside>
        <${Log} feed=${feed} called=${called} />
        ${!feed.over && html`<${Fold} title=${t("history")} draw=${() => html`
          <${History} game=${game} feed=${feed} ruleset=${ruleset} />`} />`}
        <${Fold} title=${t("throws")} id="proofs" draw=${() => html`<${Proofs} feed=${feed} />`} />
        <${Fold} title=${t("links")} id="links" draw=${() => html`<${Links} game=${game}
          held=${held} />`} />
        ${playing && html`<${Resign} feed=${feed} held=${held} mine=${mine} tell=${tell} />`}
      </aside>
    </div>
  </main>`;
}

/** The dice that are marked to be thrown again, by seat; they start unmarked with each throw. */
function useMarks(game, held) {
  const [marked, setMarked] = useState({ at: null, masks: {} });
  const at = `${game.state?.round} ${game.phase} ${game.dice.throws}`;
  const masks = marked.at === at ? marked.masks : {};
  const all = {};
  for (const [seat, legal] of choices(game, held)) {
    const reroll = legal.find((one) => one.dice !== undefined);
    if (reroll) {
      all[seat] = masks[seat] ?? game.state.choices?.[seat] ?? Array(reroll.dice).fill(false);
    }
  }
  return [all, (seat, mask) => setMarked({ at, masks: { ...masks, [seat]: mask } })];
}

/** In seed mode sealed a seed is revealed as soon as its own commit stands under the seal. */
function useReveal(feed, held, tell) {
  const { game } = feed;
  const revealing = useRef(new Set());
  useEffect(() => {
    if (game.status !== "waiting" || !game.dice.sealed) return;
    for (const [seat, seed] of Object.entries(held.seeds)) {
      const own = game.dice.seeds.find((one) => one.seat === Number(seat));
      const due = own && own.seed === null && own.commit === commitTo(game.id, seed);
      if (!due || revealing.current.has(seat)) continue;
      revealing.current.add(seat);
      request(feed, `/seats/${seat}/reveal`, { seed }, held.seats[seat], tell);
    }
  });
}

/** A change other than an action: its answer is taken, its refusal told. */
async function request(feed, path, body, token, tell, method = "POST") {
  try {
    const waiting = () => tell(t("sending"));
    const answer = await change(feed.path + path, body, { token, method, waiting });
    tell(null);
    if (answer.receipt?.game === feed.id) hold(feed.id, { receipt: answer.receipt });
    return answer;
  } catch (error) {
    tell(error instanceof Problem ? t("failed", { detail: error.message }) : t("lost"));
    return null;
  } finally {
    feed.etag = null;
    feed.poll();
  }
}

// --- parts of the table -------------------------------------------------------------------------

function Alarm({ feed }) {
  const { seq, fault, throw: n } = feed.fault;
  return html`<div class="alarm" role="alert" id="alarm">
    <h2>✗ ${t("alarm")}</h2>
    <p>${t("alarm_text", { seq, what: t(fault, { n }) })}</p>
    <p><a href=${`/verify#${feed.id}`} target="_blank">${t("whole_audit")}</a></p>
  </div>`;
}

function Headline({ game, mine }) {
  const own = game.to_act.filter((seat) => mine.has(seat));
  const others = game.to_act.map((seat) => nameOf(game, seat));
  const names = listed(others);
  return html`<p class=${own.length > 0 ? "headline mine" : "headline"}>
    <span>${own.length > 0
      ? t("your_turn", { name: listed(own.map((seat) => nameOf(game, seat))) })
      : names && t("waits_for", { names })}</span>
    ${game.deadline && html`<${Clock} deadline=${game.deadline} />`}
  </p>`;
}

/** Minutes and seconds until the turn is over. */
function Clock({ deadline }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  const left = Math.ceil((Date.parse(deadline) - Date.now() - clockOffset) / 1000);
  const time = left >= 3600
    ? `${Math.floor(left / 3600)} h ${Math.floor((left % 3600) / 60)} min`
    : `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  return html`<span class=${left <= 10 ? "clock hurry" : "clock"} role="timer">
    ${left > 0 ? t("time_left", { time }) : t("time_over")}</span>`;
}

function Waiting({ feed, held, tell }) {
  const { game } = feed;
  const [name, setName] = useState(kept("name") ?? "");
  const open = game.players.filter(({ kind }) => kind === null);
  const seated = game.players.filter(({ seat }) => held.seats[seat]);
  const mode = game.dice.seed_mode;
  const join = async (event) => {
    event.preventDefault();
    keep("name", name);
    const body = { name };
    const seed = newSeed();
    const saw = game.dice.commitment;
    if (mode === "sealed") Object.assign(body, { saw, commit: commitTo(game.id, seed) });
    if (mode === "open" && game.dice.seeds.length === 0) {
      Object.assign(body, { saw, seed });
    }
    const answer = await request(feed, "/seats", body, undefined, tell);
    if (!answer) return;
    const seeds = mode === "sealed" ? { [answer.seat]: seed } : {};
    hold(game.id, { seats: { [answer.seat]: answer.token }, seeds, ruleset: game.ruleset.key });
    feed.take(answer);
  };
  const host = (path) => request(feed, path, {}, held.host, tell);
  const leave = async (seat) => {
    const left = await request(feed, `/seats/${seat}`, {}, held.seats[seat], tell, "DELETE");
    if (left) drop(game.id, seat);
    feed.changed();
  };
  const unrevealed = game.dice.seeds.filter(({ seed }) => seed === null);
  const names = listed(unrevealed.map(({ seat }) => nameOf(game, seat)));
  return html`<section class="panel waiting">
    <h2>${t("waiting_title")}</h2>
    ${open.length > 0 && html`<${Copyable} id="invitation" label=${t("invite")}
      text=${linkTo(game.id)} />`}
    ${open.length === 0 && html`<p>
      ${game.dice.sealed ? t("sealed_wait", { names }) : t("ready")}</p>`}
    ${open.length > 0 && seated.length === 0 && html`<form class="row" onSubmit=${join}>
      <label for="join-name">${t("sit_here")}</label>
      <input id="join-name" value=${name} maxlength="40" required autocomplete="nickname"
        onInput=${({ target }) => setName(target.value)} />
      <button class="main" id="join">${t("take_seat")}</button>
    </form>`}
    <p class="row">
      ${held.host && open.length === 0 && mode !== "sealed" && html`<button class="main" id="start"
        onClick=${() => host("/start")}>${t("start")}</button>`}
      ${held.host && open.length === 0 && mode === "sealed" && html`<button class="main" id="seal"
        onClick=${() => host(game.dice.sealed ? "/start" : "/seal")}>
        ${t(game.dice.sealed ? "start" : "seal")}</button>`}
      ${held.host && html`<button class="plain"
        onClick=${() => host("/void")}>${t("call_off")}</button>`}
      ${!held.host && seated.map(({ seat }) => html`<button class="plain"
        onClick=${() => leave(seat)}>${t("leave")}</button>`)}
    </p>
  </section>`;
}

function EndCard({ feed, held, ruleset, tell }) {
  const { game } = feed;
  const { outcome, ended } = game;
  const [next, setNext] = useState(null);
  useEffect(() => {
    const look = async () => {
      try {
        const { id, number } = game.series;
        const { told } = await read(`/v1/series/${id}?limit=1&after=${number}`);
        setNext(told.games[0]?.id ?? null);
      } catch {
        // The series is asked for again in a moment.
      }
    };
    look();
    const timer = setInterval(() => document.hidden || look(), 4_000);
    return () => clearInterval(timer);
  }, [game.id]);
  const go = (id) => {
    hold(id, { host: held.host, seats: held.seats, ruleset: game.ruleset.key });
    location.hash = `#/game/${id}`;
  };
  const rematch = async () => {
    const answer = await request(feed, "/rematch", {}, held.host, tell);
    if (answer) go(answer.game.id);
  };
  const names = (seats) => listed(seats.map((seat) => nameOf(game, seat)));
  const winners = outcome?.winners ?? [];
  const title = winners.length > 0
    ? t(winners.length > 1 ? "won_by_many" : "won_by", { names: names(winners) })
    : t("nobody");
  const reason = outcome?.reason ?? ended?.reason;
  return html`<section class="panel end" id="end" aria-live="polite">
    <h2>${winners.length > 0 && "★ "}${title}</h2>
    <p>${textOr(reason ?? "", `reason_${reason}`)}</p>
    ${outcome && html`<table>
      <thead><tr><th scope="col">${t("seat")}</th>${outcome.scores && html`<th
        scope="col">${t(scoreName(game))}</th>`}
        ${outcome.chips && html`<th scope="col">${t("f_chips")}</th>`}<th
          scope="col">${t("tally")}</th></tr></thead>
      <tbody>${game.players.map(({ seat }) => html`<tr
        class=${winners.includes(seat) ? "winner" : ""}>
        <th
          scope="row">${nameOf(game, seat)}</th>
        ${outcome.scores && html`<td>${outcome.scores[seat]}</td>`}
        ${outcome.chips && html`<td>${outcome.chips[seat]}</td>`}
        <td>${game.series.tally[seat]}</td></tr>`)}</tbody>
    </table>`}
    ${(game.state?.penalties ?? []).map(({ seat, text }) => html`<p class="penalty">
      ${t("penalty", { name: nameOf(game, seat), text })}</p>`)}
    <p class="row">
      ${held.host && !next && html`<button class="main big" id="rematch"
        onClick=${rematch}>${t("rematch")}</button>`}
      ${next && html`<button class="main big" id="next"
        onClick=${() => go(next)}>${t("next_game")}</button>`}
    </p>
    <${History} game=${game} feed=${feed} ruleset=${ruleset} />
  </section>`;
}

/** What has happened, newest first; what is new is read out. */
function Log({ feed, called }) {
  const { game, entries } = feed;
  const shown = entries.slice(-LOG_SHOWN).reverse();
  const told = useRef({ upTo: entries.length, text: "" });
  if (entries.length > told.current.upTo) {
    const fresh = entries.slice(told.current.upTo).slice(-AT_ONCE);
    const text = fresh.flatMap((entry) => tellEntry(entry, game, called)).join(" ");
    told.current = { upTo: entries.length, text };
  }
  return html`<section class="log">
    <h2>${t("log")}</h2>
    <p class="unseen" aria-live="polite">${told.current.text}</p>
    <ol class="entries" tabindex="0" aria-label=${t("log")}>
      ${shown.map((entry) => {
        const words = tellEntry(entry, game, called);
        return words.length > 0 && html`<li key=${entry.seq}>${words.join(" ")}</li>`;
      })}
    </ol>
  </section>`;
}

/** Every throw with its key and the mark of this browser. */
function Proofs({ feed }) {
  const { game, throws } = feed;
  const right = feed.fault === null;
  return html`
    ${right && html`<p class="check">✓ ${t("checked_count", { n: throws.length })}</p>`}
    <ol class="turns">${[...throws].reverse().map((thrown) => html`<li key=${thrown.throw}
      class="turn-line">
      <span class="soft">${thrown.throw}. ${nameOf(game, thrown.seat)}</span>
      <${Throw} game=${game} thrown=${thrown} ruleset=${null} />
      <code class="key">${thrown.key.slice(0, 16)}…</code>
    </li>`)}</ol>`;
}

function Links({ game, held }) {
  const own = held.host || Object.keys(held.seats).length > 0;
  return html`
    <${Copyable} id="watch-link" label=${t("watch")} text=${linkTo(game.id)} />
    ${own && html`<${Copyable} id="personal-link" label=${t("personal")}
      text=${linkTo(game.id, held)} />`}`;
}

function Resign({ feed, held, mine, tell }) {
  const [sure, setSure] = useState(null);
  const { game } = feed;
  const left = [...mine].filter((seat) => !game.state.out?.includes(seat));
  const resign = (seat) => {
    setSure(null);
    act(feed, held, { kind: "resign", seat }, tell);
  };
  if (sure !== null) {
    return html`<p class="row"
      role="group"><span>${t("sure_resign", { name: nameOf(game, sure) })}</span>
      <button onClick=${() => resign(sure)} data-kind="resign">${t("yes")}</button>
      <button class="plain" onClick=${() => setSure(null)}>${t("no")}</button></p>`;
  }
  return html`<p class="row">${left.map((seat) => html`<button class="plain resign"
    data-seat=${seat}
    onClick=${() => setSure(seat)}>
    ${t("a_resign")}${left.length > 1 ? `: ${nameOf(game, seat)}` : ""}</button>`)}</p>`;
}
