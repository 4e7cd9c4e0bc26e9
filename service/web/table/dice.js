/** Dice drawn as faces: cubes that roll to their result, flat ones for histories, and pigs. */

import { textOr } from "./text.js";
import { html } from "./ui.js";

const PIPS = [[], [5], [1, 9], [1, 5, 9], [1, 3, 7, 9], [1, 3, 5, 7, 9], [1, 3, 4, 6, 7, 9]];
const PIG = "M12 58c0-16 16-26 38-26 10 0 18 2 25 6l13-5-3 12c4 4 6 8 7 11l6 3v8l-8 3c-4 6-9 10-15 "
  + "12v13H65V84H38v11H27V82c-9-5-15-13-15-24z";

/** A face in words. */
export function faceName(face) {
  return textOr(String(face), `face_${face}`);
}

function isPips(face) {
  return Number.isInteger(face) && face >= 1 && face <= 6;
}

/** One face as a picture of 100 by 100. */
function Face({ face }) {
  return html`<svg viewBox="0 0 100 100" class="face" aria-hidden="true">
    <rect x="2" y="2" width="96" height="96" rx="18" />
    ${isPips(face)
      ? PIPS[face].map(
          (cell) => html`<circle r="9" cx=${26 + 24 * ((cell - 1) % 3)}
            cy=${26 + 24 * Math.floor((cell - 1) / 3)} />`,
        )
      : html`<text x="50" y="60" text-anchor="middle">${String(face).slice(0, 6)}</text>`}
  </svg>`;
}

/** A pig as it has fallen: standing, on its back, on a side, on its snout or on its jowl. */
function Pig({ face }) {
  const side = face.startsWith("dot");
  return html`<svg viewBox="0 0 100 110" class=${`pig ${face}`} aria-hidden="true">
    <g class="body">
      <path d=${PIG} />
      <circle cx="78" cy="50" r="3" class="eye" />
      ${side && html`<path d="M30 84l-6 14M46 86l-4 14M60 86l4 14M70 84l6 12" class="legs" />`}
      ${face === "dot_up" && html`<circle cx="45" cy="58" r="8" class="eye" />`}
    </g>
  </svg>`;
}

/** A die as it lies; `rolls` lets it roll there first. */
export function Die({ face, rolls = false, marked = false }) {
  const shown = isPips(face) && rolls
    ? html`<span class=${`cube shows-${face}`}>
        ${[1, 2, 3, 4, 5, 6].map((side) => html`<span class=${`side-${side}`}><${Face}
          face=${side} /></span>`)}
      </span>`
    : textOr(null, `face_${face}`) !== null
      ? html`<${Pig} face=${face} />`
      : html`<${Face} face=${face} />`;
  const classes = `die${rolls ? " rolls" : ""}${marked ? " marked" : ""}`;
  return html`<span class=${classes} role="img" aria-label=${faceName(face)}>${shown}</span>`;
}

/** The dice of one throw; `number` makes each throw roll anew. */
export function Dice({ faces, rolls = false, number = 0, small = false }) {
  return html`<span class=${small ? "dice small" : "dice"}>
    ${faces.map((face, d) => html`<${Die} key=${`${number}.${d}`} face=${face} rolls=${rolls} />`)}
  </span>`;
}

/** Faces in words, one after the other. */
export function facesText(faces) {
  return faces.map(faceName).join(typeof faces[0] === "string" ? " + " : "-");
}
