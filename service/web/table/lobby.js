/** The lobby: all games, the tables of others, and a form that opens one. */

import { change, Problem, read } from "./api.js";
import { Die } from "./dice.js";
import { hold, keep, kept, myGames } from "./keep.js";
import { Markdown } from "./markdown.js";
import { Options, settled } from "./options.js";
import { botName } from "./story.js";
import { listed, pick, t, textOr } from "./text.js";
import { Dialog, html, useEffect, useState } from "./ui.js";

const SIGNS = {
  pig: [1],
  "two-dice-pig": [1, 4],
  "big-pig": [5, 5],
  "pass-the-pigs": ["trotter", "razorback"],
  "dados-puercos": [6, 3, 2],
  "heaven-and-nine": [6, 6],
  "dice-duel": [2, 5, 6],
};
const BOT_NUMBER = 25;
const VISIBILITIES = ["public", "unlisted"];
const SEED_MODES = ["operator", "open", "sealed", "practice"];
const known = new Map();

/** A ruleset in full; asked for once. */
export function useRuleset(key) {
  const [ruleset, setRuleset] = useState(known.get(key) ?? null);
  useEffect(() => {
    let wanted = true;
    if (key && !known.has(key)) {
      read(`/v1/rulesets/${key}`).then(
        ({ told }) => {
          known.set(key, told);
          if (wanted) setRuleset(told);
        },
        (refused) => wanted && refused instanceof Problem && setRuleset(false),
      );
    }
    setRuleset(known.get(key) ?? null);
    return () => (wanted = false);
  }, [key]);
  return ruleset;
}

export function Rules({ ruleset, onClose }) {
  return html`<${Dialog} title=${t("rules")} onClose=${onClose}>
    <${Markdown} text=${pick(ruleset.rules)} />
  <//>`;
}

/** The rules of a ruleset that may not be read yet. */
export function RulesOf({ ruleset, onClose }) {
  const full = useRuleset(ruleset);
  return full && html`<${Rules} ruleset=${full} onClose=${onClose} />`;
}

function Tables({ title, tables, empty, catalogue, label }) {
  const titles = new Map(catalogue.map((one) => [one.key, pick(one.title)]));
  return html`<section>
    <h2>${title}</h2>
    ${tables.length === 0 ? html`<p class="soft">${empty}</p>` : html`<ul class="tables">
      ${tables.map((game) => {
        const open = game.players.filter((player) => player.kind === null).length;
        const names = game.players
          .filter(({ name }) => name)
          .map(({ name, kind }) => (kind === "bot" ? botName(game.ruleset.key, name) : name));
        return html`<li key=${game.id}>
          <span class="names"><strong>${titles.get(game.ruleset.key)}</strong>
            <span
              class="soft">
              ${listed(names)}${open > 0 && ` · ${t("open_seats", { n: open })}`}</span>
          </span>
          <a class="button" href=${`#/game/${game.id}`}>${t(label)}</a>
        </li>`;
      })}
    </ul>`}
  </section>`;
}

export function Lobby({ catalogue }) {
  const [rules, setRules] = useState(null);
  const [open, setOpen] = useState([]);
  const [live, setLive] = useState([]);
  const refresh = () => {
    const list = (query, set) =>
      read(`/v1/games?limit=10&${query}`).then(({ told }) => set(told.games), () => {});
    list("status=waiting&open_seats=true", setOpen);
    list("status=playing", setLive);
  };
  useEffect(() => {
    refresh();
    const timer = setInterval(() => document.hidden || refresh(), 10_000);
    return () => clearInterval(timer);
  }, []);
  return html`<main class="lobby">
    <h1 class="tagline">${t("tagline")}</h1>
    <ul class="games">
      ${catalogue.map(
        (ruleset) => html`<li class="card" key=${ruleset.key}>
          <span class="dice sign" aria-hidden="true">
            ${(SIGNS[ruleset.key] ?? [1]).map((face) => html`<${Die} face=${face} />`)}
          </span>
          <h2>${pick(ruleset.title)}</h2>
          <p>${pick(ruleset.summary)}</p>
          <p class="soft">${t("seats_range", ruleset.seats)}</p>
          <p class="row">
            <a class="button main" href=${`#/new/${ruleset.key}`}
              aria-label=${`${t("play")}: ${pick(ruleset.title)}`}>${t("play")}</a>
            <button class="plain" onClick=${() => setRules(ruleset.key)}
              aria-label=${`${t("rules")}: ${pick(ruleset.title)}`}>${t("rules")}</button>
          </p>
        </li>`,
      )}
    </ul>
    ${rules && html`<${RulesOf} ruleset=${rules} onClose=${() => setRules(null)} />`}
    <${MyGames} catalogue=${catalogue} />
    <${Tables} title=${t("open_tables")} tables=${open} empty=${t("none_open")} label="join"
      catalogue=${catalogue} />
    <${Tables} title=${t("live_tables")} tables=${live} empty=${t("none_live")} label="watch"
      catalogue=${catalogue} />
  </main>`;
}

function MyGames({ catalogue }) {
  const mine = myGames().slice(0, 8);
  const titles = new Map(catalogue.map((one) => [one.key, pick(one.title)]));
  if (mine.length === 0) return null;
  return html`<section>
    <h2>${t("your_games")}</h2>
    <ul class="tables">
      ${mine.map(({ id, ruleset, at }) => html`<li key=${id}>
        <span class="names"><strong>${titles.get(ruleset) ?? ruleset}</strong>
          <span class="soft">${new Date(at).toLocaleString()}</span></span>
        <a class="button" href=${`#/game/${id}`}>${t("resume")}</a>
      </li>`)}
    </ul>
  </section>`;
}

// --- a new table --------------------------------------------------------------------------------

/** The seats of a way to play: mine first. */
function seated(way, count, bots, before) {
  return Array.from({ length: count }, (_, seat) => {
    const own = seat === 0 && kept("name");
    const name = before[seat]?.name ?? (own || t("player", { n: seat + 1 }));
    const kind = seat === 0 || way === "hotseat" ? "name" : way === "bots" ? "bot" : "open";
    return { kind, name, bot: before[seat]?.bot ?? bots[0]?.name };
  });
}

function asSeat({ kind, name, bot, n = BOT_NUMBER }) {
  return kind === "open" ? {} : kind === "bot" ? { bot: bot.replace(/:N$/, `:${n}`) } : { name };
}

/** The bots that can play with so many seats and these options. */
function fitting(bots, count, options) {
  const meets = ([name, { const: fixed = options[name], maximum = Infinity }]) =>
    options[name] === fixed && !(options[name] > maximum);
  return bots.filter(({ needs }) =>
    Object.entries(needs.options).every(meets) && (needs.seats ?? count) === count);
}

function Seat({ n, seat, bots, onChange }) {
  const number = { n: n + 1 };
  const kinds = ["name", "open", ...(bots.length > 0 ? ["bot"] : [])];
  return html`<li class="row seat-form">
    <select aria-label=${t("seat_kind", number)}
      onChange=${({ target }) => onChange({ ...seat, kind: kinds[target.selectedIndex] })}>
      ${kinds.map((kind) => html`<option
        selected=${kind === seat.kind}>${t(`kind_${kind}`)}</option>`)}
    </select>
    ${seat.kind === "name" && html`<input aria-label=${t("seat_name", number)} value=${seat.name}
      maxlength="40" required autocomplete="off"
      onInput=${({ target }) => onChange({ ...seat, name: target.value })} />`}
    ${seat.kind === "bot" && html`<select aria-label=${t("seat_bot", number)}
      onChange=${({ target }) => onChange({ ...seat, bot: bots[target.selectedIndex].name })}>
      ${bots.map(({ name, title }) => html`<option value=${name} selected=${name === seat.bot}>
        ${pick(title)}</option>`)}
    </select>`}
    ${seat.kind === "bot" && seat.bot.endsWith(":N") && html`<input type="number" min="1" max="999"
      aria-label="N" value=${seat.n ?? BOT_NUMBER}
      onInput=${({ target }) => onChange({ ...seat, n: Number(target.value) })} />`}
  </li>`;
}

/** What a field of the form is called, told by its JSON Pointer. */
function fieldName(pointer) {
  const [, place, n] = pointer.split("/");
  return place === "seats" && n ? t("seat_name", { n: Number(n) + 1 }) : textOr(pointer, place);
}

export function NewTable({ ruleset: key }) {
  const ruleset = useRuleset(key);
  return ruleset ? html`<${NewTableForm} ruleset=${ruleset}
    key=${key} />` : html`<main role="status">
    ${t(ruleset === false ? "no_ruleset" : "loading")}</main>`;
}

function NewTableForm({ ruleset }) {
  const { bots, seats: range, examples } = ruleset;
  const [way, setWay] = useState(bots.length > 0 ? "bots" : "hotseat");
  const [seats, setSeats] = useState(() => seated(way, range.min, bots, []));
  const [options, setOptions] = useState({});
  const [table, setTable] = useState({ visibility: "public", seed_mode: "operator", start: true });
  const [turnSeconds, setTurnSeconds] = useState("");
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const [rules, setRules] = useState(false);
  const fit = fitting(bots, seats.length, settled(ruleset, options));
  // A bot that can't play what has been chosen since makes way for one that can.
  const shown = seats.map((seat) =>
    fit.some(({ name }) => name === seat.bot) ? seat : { ...seat, bot: fit[0]?.name });
  const ways = ["bots", "hotseat", "link"].filter((one) => one !== "bots" || bots.length > 0);
  const arrange = (how, count) => {
    setWay(how);
    setSeats(seated(how, count, bots, seats));
  };
  const prepared = (example) => {
    arrange(way, example.seats);
    setOptions(example.options);
  };
  const open = async (event) => {
    event.preventDefault();
    setBusy(true);
    const people = seats.filter(({ kind }) => kind === "name");
    const hotseat = people.length > 1;
    const body = { ruleset: ruleset.key, options, seats: shown.map(asSeat), hotseat, ...table };
    if (turnSeconds !== "") body.turn_seconds = Number(turnSeconds);
    if (table.seed_mode === "practice") body.seed = "0123456789abcdef".repeat(4);
    if (people.length > 0) keep("name", people[0].name);
    try {
      const { game, tokens, receipt } = await change("/v1/games", body);
      const own = Object.fromEntries(tokens.seats.map(({ seat, token }) => [seat, token]));
      hold(game.id, { host: tokens.host, seats: own, ruleset: ruleset.key, receipt });
      location.hash = `#/game/${game.id}`;
    } catch (refused) {
      setProblem(refused);
      setBusy(false);
    }
  };
  const errors = problem instanceof Problem ? (problem.told.errors ?? []) : [];
  return html`<main class="new-table">
    <h1>${t("new_table", { game: pick(ruleset.title) })}</h1>
    <p>${pick(ruleset.summary)}
      ${" "}<button class="plain" onClick=${() => setRules(true)}>${t("rules")}</button></p>
    ${rules && html`<${Rules} ruleset=${ruleset} onClose=${() => setRules(false)} />`}
    <form onSubmit=${open} class="panel" novalidate>
      <fieldset>
        <legend>${t("against")}</legend>
        ${ways.map((one) => html`<label class="choice" key=${one}>
          <input type="radio" name="way" value=${one} checked=${one === way}
            onChange=${() => arrange(one, seats.length)} /> ${t(`way_${one}`)}</label>`)}
        <label>${t("seat_count")}${" "}
          <input type="number" id="seat-count" min=${range.min} max=${range.max}
            value=${seats.length}
            onInput=${({ target }) => {
              const count = Number(target.value);
              if (count >= range.min && count <= range.max) arrange(way, count);
            }}
            onBlur=${({ target }) => (target.value = seats.length)} /></label>
        <ol class="seats-form">${shown.map(
          (seat, n) => html`<${Seat} key=${n} n=${n} seat=${seat} bots=${fit}
            onChange=${(next) => setSeats(seats.map((one, at) => (at === n ? next : one)))} />`,
        )}</ol>
      </fieldset>
      <p class="row">${t("examples")}: ${examples.map((example) => html`<button type="button"
        class="plain"
        onClick=${() => prepared(example)}>${pick(example.title)}</button>`)}</p>
      <details id="options" open=${errors.some(({ pointer }) => pointer.startsWith("/options"))}>
        <summary>${t("options")}</summary>
        <${Options} ruleset=${ruleset} value=${options} onChange=${setOptions} errors=${errors} />
      </details>
      <${TableSettings} table=${table} onChange=${setTable} turnSeconds=${turnSeconds}
        onTurnSeconds=${setTurnSeconds} />
      ${problem && html`<div role="alert" class="error">
        <p>${t("create_failed")} ${problem instanceof Problem ? problem.message : t("lost")}</p>
        <ul>${errors.map(({ pointer, detail }) => html`<li>${fieldName(pointer)}: ${detail}</li>`)}</ul>
      </div>`}
      <button class="main big" disabled=${busy} id="create">${t("create")}</button>
    </form>
  </main>`;
}

function TableSettings({ table, onChange, turnSeconds, onTurnSeconds }) {
  const select = (name, values) => html`<div class="option">
    <label for=${`table-${name}`}>${t(name)}</label>
    <select id=${`table-${name}`}
      onChange=${({ target }) => onChange({ ...table, [name]: values[target.selectedIndex][0] })}>
      ${values.map(([value, key]) => html`<option
        selected=${value === table[name]}>${t(key)}</option>`)}
    </select>
  </div>`;
  return html`<details id="settings">
    <summary>${t("table_settings")}</summary>
    <div class="options">
      ${select("visibility", VISIBILITIES.map((one) => [one, `visibility_${one}`]))}
      ${select("seed_mode", SEED_MODES.map((mode) => [mode, `seed_${mode}`]))}
      <div class="option">
        <label for="table-clock">${t("turn_seconds")}</label>
        <input id="table-clock" type="number" min="5" max="604800" value=${turnSeconds}
          onInput=${({ target }) => onTurnSeconds(target.value)} />
      </div>
      <div class="option"><label class="choice"><input type="checkbox" checked=${!table.start}
        onChange=${({ target }) => onChange({ ...table, start: !target.checked })} />
        ${t("wait_for_host")}</label></div>
    </div>
  </details>`;
}
