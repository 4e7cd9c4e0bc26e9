/** What may be done now: a button for each legal action of the seats that play in this browser. */

import { change, Problem } from "./api.js";
import { hold } from "./keep.js";
import { nameOf } from "./story.js";
import { t, textOr } from "./text.js";
import { html, useLayoutEffect, useRef, useState } from "./ui.js";

/** The seats of this browser: those whose tokens it holds; with the host's alone, a hot seat's. */
export function seatsOf(game, held) {
  const people = game.players.filter(({ kind }) => kind === "human").map(({ seat }) => seat);
  const own = people.filter((seat) => held.seats[seat]);
  return new Set(own.length === 0 && game.hotseat && held.host ? people : own);
}

function tokenFor(game, held, seat) {
  return seat === null ? held.host : (held.seats[seat] ?? (game.hotseat ? held.host : undefined));
}

/** The legal actions that this browser may take, by seat; null is the table, for the host. */
export function choices(game, held) {
  const mine = seatsOf(game, held);
  const found = new Map();
  for (const legal of game.legal_actions) {
    const { seat } = legal;
    if (seat === null ? !held.host : !mine.has(seat)) continue;
    found.set(seat, [...(found.get(seat) ?? []), legal]);
  }
  return found;
}

/** What others may do meanwhile without changing what one has to choose from. */
const BESIDE = new Set(["choices", "bets", "chips", "results", "covered"]);

/** Whether a choice that was made before still stands after what has happened since. */
function stands(before, after, { seat, kind }) {
  const seen = ({ phase, state }) =>
    JSON.stringify([phase, state], (name, value) => (BESIDE.has(name) ? undefined : value));
  const listed = after.legal_actions.some((one) => one.seat === seat && one.kind === kind);
  return listed && seen(before) === seen(after);
}

/**
 * Takes an action, says what became of it, and recovers: an action that came too late is sent
 * again only if the same choice still stands.
 */
export async function act(feed, held, action, tell, again = true) {
  const { game } = feed;
  const { seat, ...asked } = action;
  const token = tokenFor(game, held, seat);
  const body = { ...asked, expected_version: game.version };
  if (seat !== null && !held.seats[seat]) body.seat = seat;
  tell(null);
  try {
    const answer = await change(`${feed.path}/actions`, body, {
      token,
      waiting: () => tell(t("sending")),
    });
    tell(null);
    if (answer.receipt) hold(feed.id, { receipt: answer.receipt });
    feed.take(answer);
  } catch (error) {
    feed.etag = null;
    await feed.poll();
    if (!(error instanceof Problem)) return tell(t("lost"));
    const stale = error.code === "stale_version";
    if (stale && again && stands(game, feed.game, action)) {
      return act(feed, held, action, tell, false);
    }
    tell(stale ? t("moved_on") : t("failed", { detail: error.message }));
  }
}

/** An amount between its bounds, with a button that takes it. */
function Amount({ legal, onAct, name }) {
  const [value, setValue] = useState(legal.min);
  const amount = Math.max(legal.min, Math.min(legal.max, value));
  const steps = [legal.min, Math.round((legal.min + legal.max) / 2), legal.max];
  const id = `amount-${legal.kind}-${legal.seat}`;
  return html`<div class="amount">
    <label for=${id}>${t("amount_for", { name })}</label>
    <span class="row">
      ${legal.max > legal.min && html`<input id=${id} type="number" inputmode="numeric"
        min=${legal.min}
        max=${legal.max} value=${amount}
        onChange=${({ target }) => setValue(Math.trunc(Number(target.value)))} />
      ${[...new Set(steps)].map((step) => html`<button type="button" class="plain"
        aria-pressed=${step === amount}
        onClick=${() => setValue(step)}>${step}</button>`)}`}
      <button class="main big" data-kind=${legal.kind} data-seat=${legal.seat}
        onClick=${() => onAct({ kind: legal.kind, amount })}>
        ${t(`a_${legal.kind}`, { amount })}</button>
    </span>
  </div>`;
}

function Choice({ legal, name, mask, onAct, first }) {
  const { kind, seat } = legal;
  if (legal.max !== undefined) return html`<${Amount} legal=${legal} onAct=${onAct}
    name=${name} />`;
  const n = mask?.filter(Boolean).length;
  const action = legal.dice === undefined ? { kind } : { kind, mask };
  const label = kind === "hold" && mask ? "a_keep" : `a_${kind}`;
  return html`<button class=${first ? "main big" : "big"} data-kind=${kind} data-seat=${seat}
    disabled=${legal.dice !== undefined && n === 0} onClick=${() => onAct(action)}>
    ${textOr(kind, label, { n })}</button>`;
}

export function Controls({ feed, held, marks, tell, busy, onBusy }) {
  const { game } = feed;
  const found = choices(game, held);
  const panel = useRef();
  const inside = useRef(false);
  // Whoever plays by keyboard stays here when the buttons change under their fingers.
  useLayoutEffect(() => {
    if (inside.current && [document.body, panel.current].includes(document.activeElement)) {
      (panel.current.querySelector("button.main") ?? panel.current).focus();
    }
  });
  const seats = [...found.keys()];
  const several = seats.length > 1 || game.hotseat;
  return html`<section class=${seats.length > 1 ? "controls" : "controls low"} ref=${panel}
    tabindex="-1" aria-label=${t("actions")}
    onFocusCapture=${() => (inside.current = true)}
    onBlurCapture=${({ relatedTarget }) => (inside.current = relatedTarget === null)}>
    ${seats.map((seat) => {
      const name = seat === null ? t("host") : nameOf(game, seat);
      const onAct = async (action) => {
        if (busy) return;
        onBusy(true);
        await act(feed, held, { ...action, seat }, tell);
        onBusy(false);
      };
      return html`<div class="choices" key=${seat} role="group" aria-label=${name}>
        ${several && html`<strong class="whose">${name}</strong>`}
        ${found.get(seat).map((legal, n) => html`<${Choice}
          key=${`${legal.kind} ${game.state.round}`} legal=${legal}
          name=${name} mask=${marks[seat]} first=${n === 0} onAct=${onAct} />`)}
      </div>`;
    })}
  </section>`;
}
