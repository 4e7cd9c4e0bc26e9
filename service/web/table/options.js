/**
 * A form made from the JSON Schema of a ruleset's options: numbers with their bounds, choices,
 * switches, lists of texts, and options inside options. Only what was touched is sent, so that
 * everything else takes the server's defaults, which may depend on the table.
 */

import { language, t, textOr } from "./text.js";
import { html } from "./ui.js";

function resolved(schema, root) {
  return schema.$ref ? root.$defs[schema.$ref.split("/").pop()] : schema;
}

/** The branches of a schema that may be one of several, or null. */
function branches(schema, root) {
  const found = schema.oneOf ?? schema.anyOf;
  return found ? found.map((one) => resolved(one, root)) : null;
}

/** How a branch of several is called: its discriminator's value, its one key, or its type. */
function branchName(branch) {
  const [name, first] = Object.entries(branch.properties ?? {})[0] ?? [];
  return first?.const ?? name ?? branch.type;
}

/** What to start a branch with. */
function initial(branch) {
  if (branch.type !== "object") return branch.minimum ?? null;
  const { properties, required: needed = [] } = branch;
  const required = Object.entries(properties).filter(([name]) => needed.includes(name));
  return Object.fromEntries(
    required.map(([name, { const: fixed, minimum, enum: choices, type }]) => [
      name,
      fixed ?? choices?.[0] ?? (type === "array" ? [] : (minimum ?? "")),
    ]),
  );
}

export function choiceName(value) {
  return textOr(String(value), `o_${value}`);
}

/** @param {string} path the option's place, as `options_text` spells it: `end/rounds` */
function Option({ name, path, schema, root, texts, value, onChange, errors, seats }) {
  const text = (language() !== "en" && texts[language()]?.[path]) || schema;
  const id = `option-${path.replace("/", "-")}`;
  const at = errors.filter(({ pointer }) => pointer === `/options/${path}`);
  const described = text.description ? `${id}-note` : undefined;
  const several = branches(schema, root);
  const props = { id, value, onChange, schema, root, described };
  let field;
  if (several) {
    const more = { several, path, texts, errors, seats, touched: value !== undefined };
    field = html`<${Branches} ...${props} ...${more} />`;
  } else if (schema.type === "boolean") field = html`<${Switch} ...${props} />`;
  else if (schema.enum) field = html`<${Choice} ...${props} />`;
  else if (schema.type === "array") field = html`<${Lines} ...${props} />`;
  else field = html`<${Whole} ...${props} />`;
  return html`<div class="option" key=${path}>
    <label for=${id}>${text.title ?? name}</label>
    ${field}
    ${text.description && html`<p class="hint" id=${described}>${text.description}</p>`}
    ${at.map(({ detail }) => html`<p class="error">${detail}</p>`)}
  </div>`;
}

function Switch({ id, value, onChange, schema, described }) {
  return html`<input type="checkbox" id=${id} aria-describedby=${described}
    checked=${value ?? schema.default} onChange=${(event) => onChange(event.target.checked)} />`;
}

function Choice({ id, value, onChange, schema, described }) {
  const changed = ({ target }) => onChange(schema.enum[target.selectedIndex]);
  return html`<select id=${id} onChange=${changed} aria-describedby=${described}>
    ${schema.enum.map((one) => html`<option selected=${one === (value ?? schema.default)}>
      ${choiceName(one)}</option>`)}
  </select>`;
}

function Lines({ id, value, onChange, described }) {
  const lines = ({ target }) => onChange(target.value.split("\n").filter((line) => line.trim()));
  return html`<textarea id=${id} rows="3" aria-describedby=${described}
    placeholder=${t("one_a_line")}
    onChange=${lines}>${(value ?? []).join("\n")}</textarea>`;
}

function Whole({ id, value, onChange, schema, described }) {
  const number = ({ target }) => onChange(target.value === "" ? undefined : Number(target.value));
  return html`<input type="number" inputmode="numeric" id=${id} aria-describedby=${described}
    min=${schema.minimum} max=${schema.maximum} step="1" value=${value ?? schema.default}
    onInput=${number} />`;
}

/** One of several shapes: first which, then its own options. */
function Branches({ id, value, onChange, several, root, described, path, texts, errors, touched }) {
  const real = several.filter((branch) => branch.type !== "null");
  const chosen = value === null || value === undefined
    ? -1
    : real.findIndex((branch) => branch.type !== "object" || branchName(branch) in value);
  const nullable = real.length < several.length;
  const choose = ({ target }) =>
    onChange(target.value === "" ? undefined : initial(real[Number(target.value)]));
  const branch = real[chosen];
  return html`<select id=${id} onChange=${choose} aria-describedby=${described}>
      <option value="" selected=${!touched}>${t(nullable ? "none" : "usual")}</option>
      ${real.map((one, n) => html`<option value=${n} selected=${n === chosen}>
        ${one.type === "object" ? titleOf(one, path, texts) : t("amount")}</option>`)}
    </select>
    ${branch && (branch.type === "object"
      ? html`<${Fields} schema=${branch} root=${root} texts=${texts} value=${value} under=${path}
          onChange=${onChange} errors=${errors} />`
      : html`<${Whole} id=${`${id}-value`} value=${value} onChange=${onChange}
        schema=${branch} />`)}`;
}

function titleOf(branch, path, texts) {
  const names = Object.keys(branch.properties);
  if (names.length > 1) return branch.title;
  return texts[language()]?.[`${path}/${names[0]}`]?.title ?? branch.properties[names[0]].title;
}

/** The options of one object. */
function Fields({ schema, root, texts, value, onChange, errors, under = "" }) {
  const entries = Object.entries(schema.properties).filter(([, one]) => one.const === undefined);
  return html`<div class="options">
    ${entries.map(([name, one]) => {
      const set = (next) => {
        const { [name]: _, ...others } = value ?? {};
        onChange(next === undefined ? others : { ...others, [name]: next });
      };
      const path = under ? `${under}/${name}` : name;
      return html`<${Option} name=${name} path=${path} schema=${resolved(one, root)} root=${root}
        texts=${texts} value=${value?.[name]} onChange=${set} errors=${errors} />`;
    })}
  </div>`;
}

/** The options as they will be: what was touched, and the defaults of the rest. */
export function settled({ options: root }, touched) {
  const modes = branches(root, root) ?? [root];
  const key = root.discriminator?.propertyName;
  const { properties } = modes.find((one) => branchName(one) === touched[key]) ?? modes[0];
  const usual = ([name, one]) => [name, one.const ?? one.default];
  const defaults = Object.entries(properties).map(usual);
  return { ...Object.fromEntries(defaults), ...touched };
}

/** All options of a ruleset; one that has modes asks for the mode first. */
export function Options({ ruleset, value, onChange, errors }) {
  const root = ruleset.options;
  const texts = ruleset.options_text;
  const modes = branches(root, root);
  if (!modes) {
    return html`<${Fields} schema=${root} root=${root} texts=${texts} value=${value}
      onChange=${onChange} errors=${errors} />`;
  }
  const key = root.discriminator.propertyName;
  const names = modes.map(branchName);
  const chosen = Math.max(0, names.indexOf(value[key]));
  const { title } = texts[language()]?.[key] ?? modes[chosen].properties[key];
  const choose = ({ target }) => onChange({ [key]: names[target.selectedIndex] });
  return html`<div class="option">
      <label for="option-mode">${title}</label>
      <select id="option-mode" onChange=${choose}>
        ${names.map((name, n) => html`<option
          selected=${n === chosen}>${choiceName(name)}</option>`)}
      </select>
    </div>
    <${Fields} schema=${modes[chosen]} root=${root} texts=${texts} value=${value} errors=${errors}
      key=${chosen} onChange=${(next) => onChange({ ...next, [key]: names[chosen] })} />`;
}
