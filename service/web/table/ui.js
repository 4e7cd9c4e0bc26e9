/** The component library, and small pieces that every view uses. */

import {
  html,
  render,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "../vendor/htm-preact/standalone.module.js";
import { t } from "./text.js";

export { html, render, useEffect, useLayoutEffect, useRef, useState };

/** A native dialog; closes with Escape, its button, or a click beside it. */
export function Dialog({ title, onClose, children }) {
  const box = useRef();
  useLayoutEffect(() => box.current.showModal(), []);
  const beside = (event) => event.target === box.current && onClose();
  return html`<dialog ref=${box} onClose=${onClose} onClick=${beside} aria-label=${title}>
    <div class="sheet">
      <button class="plain close" onClick=${onClose} aria-label=${t("close")}>✕</button>
      ${children}
    </div>
  </dialog>`;
}

/** A link to hand on: shown, selected and copied. */
export function Copyable({ label, text, id }) {
  const [copied, setCopied] = useState(false);
  const field = useRef();
  const copy = async () => {
    field.current.select();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // It is missing on pages that came over plain HTTP, and may be forbidden.
      document.execCommand("copy");
    }
    setCopied(true);
  };
  return html`<label class="copyable">
    <span>${label}</span>
    <span class="row">
      <input ref=${field} id=${id} readonly value=${text} onFocus=${() => field.current.select()} />
      <button type="button" onClick=${copy}>${t(copied ? "copied" : "copy")}</button>
    </span>
  </label>`;
}

/** What is drawn only while it is open. */
export function Fold({ title, id, draw }) {
  const [open, setOpen] = useState(false);
  return html`<details id=${id} onToggle=${({ target }) => setOpen(target.open)}>
    <summary>${title}</summary>
    ${open && draw()}
  </details>`;
}
