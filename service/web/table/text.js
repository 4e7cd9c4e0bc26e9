/** The words of the table in the language that is chosen. */

import { en } from "./text-en.js";
import { es } from "./text-es.js";
import { kept, keep } from "./keep.js";

const TEXTS = { es, en };
export const LANGUAGES = { es: "Español", en: "English" };

let chosen = kept("language") ?? (navigator.language.startsWith("es") ? "es" : "en");

export function language() {
  return chosen;
}

export function speak(name) {
  chosen = name in TEXTS ? name : "en";
  keep("language", chosen);
  document.documentElement.lang = chosen;
}

/** A text with its {gaps} filled; null where there is none and no other is given. */
export function textOr(other, key, values = {}) {
  const template = TEXTS[chosen][key];
  if (template === undefined) return other;
  return template.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

/** A text with its {gaps} filled; what has no text is shown by its own name. */
export function t(key, values) {
  return textOr(key, key, values);
}

/** Of a text in several languages, the one that is spoken. */
export function pick(texts) {
  return texts[chosen] ?? texts.en;
}

/** Names one after the other, as people say them. */
export function listed(names) {
  return new Intl.ListFormat(chosen).format(names);
}
