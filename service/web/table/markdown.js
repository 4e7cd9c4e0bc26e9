/** Markdown as the rules are written in it, drawn as elements: nothing in it becomes markup. */

import { html } from "./ui.js";

function inline(text) {
  return text.split(/(\*\*[^*]+\*\*|\*[^*]+\*|`[^`]+`)/).map((part) => {
    if (part.startsWith("**")) return html`<strong>${part.slice(2, -2)}</strong>`;
    if (part.startsWith("*")) return html`<em>${part.slice(1, -1)}</em>`;
    if (part.startsWith("`")) return html`<code>${part.slice(1, -1)}</code>`;
    return part;
  });
}

function cells(line) {
  return line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => inline(cell.trim()));
}

function table(lines) {
  const [head, , ...body] = lines.map(cells);
  return html`<div class="wide" tabindex="0"><table>
    <thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
    <tbody>${body.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

function block(text) {
  const heading = /^(#+) (.*)/.exec(text);
  const lines = text.split("\n");
  if (heading) return html`<${`h${heading[1].length + 1}`}>${inline(heading[2])}<//>`;
  if (text.startsWith("|")) return table(lines);
  const [, sign] = /^(-|\d+\.) /.exec(text) ?? [];
  if (!sign) return html`<p>${inline(lines.join(" "))}</p>`;
  const items = text.replace(/^(-|\d+\.) /, "").split(/\n(?:-|\d+\.) /);
  const list = items.map((item) => html`<li>${inline(item.replace(/\s*\n\s*/g, " "))}</li>`);
  return sign === "-" ? html`<ul>${list}</ul>` : html`<ol>${list}</ol>`;
}

export function Markdown({ text }) {
  return html`<div class="prose">${text.trim().split(/\n\n+/).map(block)}</div>`;
}
