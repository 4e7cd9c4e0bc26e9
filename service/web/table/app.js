/** Which view the address asks for. Tokens in it are kept by this browser and leave the address. */

import { read } from "./api.js";
import { Game } from "./game.js";
import { hold } from "./keep.js";
import { Lobby, NewTable } from "./lobby.js";
import { meetBots } from "./story.js";
import { language, LANGUAGES, speak, t } from "./text.js";
import { html, render, useEffect, useState } from "./ui.js";

/** Takes the tokens out of a personal link: `#/game/<id>/0=cub_seat_..&host=cub_host_..`. */
function takeTokens() {
  const [, id, tokens] = /^#\/game\/([\w-]+)\/(.+)$/.exec(location.hash) ?? [];
  if (!tokens) return;
  const { host, ...seats } = Object.fromEntries(new URLSearchParams(tokens));
  hold(id, host ? { host, seats } : { seats });
  history.replaceState(null, "", `#/game/${id}`);
}

function route() {
  takeTokens();
  const [, view, name] = location.hash.split("/");
  return { view, name };
}

function App() {
  const [{ view, name }, setRoute] = useState(route);
  const [catalogue, setCatalogue] = useState([]);
  const [spoken, setSpoken] = useState(language());
  useEffect(() => {
    const moved = () => {
      setRoute(route());
      scrollTo(0, 0);
    };
    addEventListener("hashchange", moved);
    // The address may have changed since the first look at it, while nobody listened.
    setRoute(route());
    const load = () =>
      read("/v1/rulesets").then(
        ({ told: { rulesets } }) => {
          rulesets.forEach(meetBots);
          setCatalogue(rulesets);
        },
        () => setTimeout(load, 2_000),
      );
    load();
  }, []);
  const choose = (code) => {
    speak(code);
    setSpoken(code);
  };
  return html`<header>
      <a class="brand" href="#/" aria-label=${`Cubilete: ${t("lobby")}`}><span
        aria-hidden="true">⚂</span> Cubilete</a>
      <div role="group" aria-label=${t("language")} class="languages row">
        ${Object.entries(LANGUAGES).map(([code, title]) => html`<button class="plain" lang=${code}
          value=${code}
          aria-pressed=${code === spoken} onClick=${() => choose(code)}>${title}</button>`)}
      </div>
    </header>
    ${view === "game" && name
      ? html`<${Game} id=${name} key=${name} />`
      : view === "new" && name
        ? html`<${NewTable} ruleset=${name} key=${name} />`
        : html`<${Lobby} catalogue=${catalogue} />`}
    <footer><a href="/docs">API</a> · <a href="/verify">${t("verifier")}</a></footer>`;
}

speak(language());
render(html`<${App} />`, document.getElementById("app"));
