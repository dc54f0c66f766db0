// The page: operations on the left, one of them to try on the right.

import { build, curl, example, operations, resolve } from "/docs/request.js";

const TOKEN = "keyaki-token";
const SHOWN_MAX = 256 * 1024;
const at = (id) => document.getElementById(id);

let api;
let all = [];
let stop;

/** An element with attributes and children; text may have `code` in it. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined));
  return element;
}

function prose(text) {
  return text.split("`").map((part, index) => (index % 2 ? make("code", {}, part) : part));
}

async function start() {
  at("token").value = sessionStorage.getItem(TOKEN) ?? "";
  at("token").addEventListener("input", () => sessionStorage.setItem(TOKEN, at("token").value.trim()));
  at("access").addEventListener("submit", (event) => event.preventDefault());
  at("filter").addEventListener("input", list);
  api = await (await fetch("/openapi.json")).json();
  all = operations(api);
  at("version").textContent = api.info.version;
  addEventListener("hashchange", show);
  list();
  show();
}

function list() {
  const wanted = at("filter").value.trim().toLowerCase();
  const fits = (one) => `${one.method} ${one.path} ${one.summary}`.toLowerCase().includes(wanted);
  const groups = api.tags.map((tag) => {
    const found = all.filter((one) => one.tags.includes(tag.name) && fits(one));
    if (!found.length) return undefined;
    return make("section", {}, make("h2", {}, tag.name), make("p", { class: "quiet" }, prose(tag.description)),
      make("ul", {}, found.map(entry)));
  });
  const shown = groups.filter(Boolean);
  at("operations").replaceChildren(...(shown.length ? shown : [make("p", { class: "quiet" }, "Nothing is called that.")]));
  mark();
}

function entry(one) {
  return make("li", {}, make("a", { href: `#${one.id}` }, badge(one.method),
    make("span", { class: "entry" }, one.summary, make("span", { class: "path" }, broken(one.path)))));
}

/** A path that may be broken before its slashes. */
function broken(path) {
  return path.split("/").slice(1).flatMap((part) => [make("wbr"), `/${part}`]);
}

function badge(method) {
  return make("span", { class: `badge ${method.toLowerCase()}` }, method);
}

function mark() {
  for (const link of at("operations").querySelectorAll("a")) {
    if (link.hash === location.hash) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function show() {
  stop?.abort();
  const one = all.find((one) => `#${one.id}` === location.hash);
  mark();
  if (!one) {
    at("operation").replaceChildren(welcome());
    return;
  }
  document.title = `${one.summary} · Keyaki`;
  const answer = make("section", { class: "answer", "aria-live": "polite", "aria-label": "Answer" });
  const form = fields(one);
  const command = make("pre", { tabindex: "0" });
  const refresh = () => { command.textContent = curl(build(one, values(form), at("token").value.trim()), location.origin); };
  form.addEventListener("input", refresh);
  at("token").oninput = refresh;
  form.addEventListener("submit", (event) => { event.preventDefault(); send(one, form, answer); });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  const copy = make("button", { type: "button", class: "plain", onclick: () => copied(copy, command.textContent) }, "Copy");
  at("operation").replaceChildren(
    make("h2", {}, one.summary),
    make("p", { class: "target" }, badge(one.method), " ", make("code", {}, one.path)),
    one.description ? make("p", {}, prose(one.description)) : "",
    make("p", { class: "quiet" }, rights(one)),
    form,
    make("details", { class: "curl", open: true }, make("summary", {}, "As a command"), copy, command),
    answer,
    outcomes(one),
  );
  refresh();
  at("operation").focus({ preventScroll: true });
  at("operation").scrollIntoView({ block: "start" });
}

function welcome() {
  const told = api.info.description.split("\n\n").slice(0, 2);
  return make("div", { class: "welcome" }, make("h2", {}, "Try it"), told.map((text) => make("p", {}, prose(text))),
    make("p", {}, "Choose an operation. The token goes with every request that you send from here, and nowhere else: to this server only, and it is forgotten with this tab."));
}

function rights(one) {
  if (!one.security) return "Needs no token.";
  return one.security.some((way) => !Object.keys(way).length) ? "Needs a token, unless an ACL lets anybody in." : "Needs a token.";
}

/** The form of an operation. */
function fields(one) {
  const group = (title, list) => list.length
    ? make("fieldset", {}, make("legend", {}, title), list.map((parameter) => field(parameter)))
    : undefined;
  const place = (name) => one.parameters.filter((parameter) => parameter.in === name);
  return make("form", { autocomplete: "off" },
    group("Path", place("path")),
    group("Query", place("query")),
    group("Conditions", place("header").filter(isCondition)),
    group("Headers", place("header").filter((parameter) => !isCondition(parameter))),
    bodyOf(one),
    make("details", {}, make("summary", {}, "More headers"),
      make("label", { for: "more" }, "One to a line, such as ", make("code", {}, "Accept: application/x-ndjson")),
      make("textarea", { id: "more", name: "more", rows: 2, spellcheck: "false" })),
    make("p", { class: "actions" }, make("button", { type: "submit" }, "Send"),
      make("span", { class: "quiet" }, "Ctrl + Enter")));
}

function isCondition(parameter) {
  return parameter.name.startsWith("If-");
}

function field(parameter) {
  const id = `${parameter.in}:${parameter.name}`;
  const schema = resolve(api, parameter.schema);
  const given = parameter.in === "path" ? (parameter.example ?? "") : undefined;
  const input = schema.enum
    ? make("select", { id, name: id }, parameter.required ? undefined : make("option", { value: "" }, "—"),
        schema.enum.map((value) => make("option", { value, selected: value === given }, value)))
    : make("input", { id, name: id, value: given, required: parameter.required, spellcheck: "false",
        type: schema.type === "integer" ? "number" : "text", min: schema.minimum, max: schema.maximum,
        placeholder: schema.default, "aria-describedby": `${id}-about` });
  return make("div", { class: "field" }, make("label", { for: id }, parameter.name), input,
    make("span", { class: "about", id: `${id}-about` }, prose(parameter.description ?? "")));
}

function bodyOf(one) {
  if (!one.requestBody) return undefined;
  const kinds = Object.keys(one.requestBody.content).filter((kind) => kind !== "*/*");
  const json = one.requestBody.content["application/json"];
  const text = json ? JSON.stringify(example(api, json.schema), null, 2) : "Hello";
  const list = kinds.map((kind) => make("option", { value: kind }));
  return make("fieldset", {}, make("legend", {}, "Body"),
    make("div", { class: "field" }, make("label", { for: "kind" }, "Content-Type"),
      make("input", { id: "kind", name: "kind", list: "kinds", value: json ? "application/json" : "text/plain", spellcheck: "false" }),
      make("datalist", { id: "kinds" }, list),
      make("span", { class: "about" }, prose(one.requestBody.description ?? ""))),
    make("label", { for: "body", class: "hidden" }, "Body"),
    make("textarea", { id: "body", name: "body", rows: Math.min(14, text.split("\n").length + 2), spellcheck: "false" }, text));
}

function values(form) {
  return Object.fromEntries(new FormData(form));
}

/** Sends it, and shows what comes back as it comes. */
async function send(one, form, answer) {
  stop?.abort();
  stop = new AbortController();
  const asked = build(one, values(form), at("token").value.trim());
  const begun = performance.now();
  const status = make("strong", {}, "…");
  const took = make("span", { class: "quiet" }, "asking");
  const halt = make("button", { type: "button", class: "plain", onclick: () => stop.abort() }, "Stop");
  answer.replaceChildren(make("h3", {}, "Answer"), make("p", { class: "status" }, status, " ", took, " ", halt));
  answer.scrollIntoView({ block: "nearest" });
  try {
    const response = await fetch(asked.url, {
      method: asked.method, headers: asked.headers, body: asked.body, signal: stop.signal, cache: "no-store", credentials: "omit",
    });
    status.textContent = `${response.status} ${response.statusText}`;
    status.className = response.ok ? "good" : "bad";
    answer.append(headersOf(response));
    const length = await bodyInto(response, answer);
    took.textContent = `${Math.round(performance.now() - begun)} ms, ${length.toLocaleString("en")} bytes`;
    answer.scrollIntoView({ block: "nearest" });
  } catch (error) {
    took.textContent = error.name === "AbortError" ? "stopped" : `no answer: ${error.message}`;
    if (status.textContent === "…") status.textContent = "—";
  }
  halt.remove();
}

function headersOf(response) {
  const rows = [...response.headers].map(([name, value]) =>
    make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)));
  return make("details", { open: true }, make("summary", {}, "Headers"), make("table", {}, make("tbody", {}, rows)));
}

async function bodyInto(response, answer) {
  const pre = make("pre", { class: "body", tabindex: "0", "aria-label": "Body" });
  const decoder = new TextDecoder();
  let [text, length] = ["", 0];
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
    if (!pre.isConnected) answer.append(pre);
    length += part.value.length;
    if (text.length < SHOWN_MAX) text += decoder.decode(part.value, { stream: true });
    pre.textContent = text;
  }
  if (/[/+]json/.test(response.headers.get("content-type") ?? "")) pre.textContent = indented(text);
  if (text.length >= SHOWN_MAX) answer.append(make("p", { class: "quiet" }, "The rest is not shown."));
  return length;
}

/** Lays JSON out in lines without reading it, so that every digit stays as it came. */
function indented(text) {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g) ?? [];
  let [shown, depth] = ["", 0];
  const line = () => `\n${"  ".repeat(depth)}`;
  tokens.forEach((token, index) => {
    const empty = index && "{[".includes(tokens[index - 1]) && tokens[index - 1].length === 1;
    if (token === "{" || token === "[") {
      depth += 1;
      shown += token + ("}]".includes(tokens[index + 1] ?? "x") ? "" : line());
    } else if (token === "}" || token === "]") {
      depth -= 1;
      shown += (empty ? "" : line()) + token;
    } else if (token === ",") shown += token + line();
    else shown += token === ":" ? ": " : token;
  });
  return shown;
}

function outcomes(one) {
  const rows = Object.entries(one.responses).map(([status, response]) => {
    const told = resolve(api, response);
    return make("tr", {}, make("th", { scope: "row", class: status < "400" ? "good" : "bad" }, status),
      make("td", {}, prose(told.description)));
  });
  return make("details", { class: "outcomes" }, make("summary", {}, "What it may answer"), make("table", {}, make("tbody", {}, rows)));
}

async function copied(button, text) {
  await navigator.clipboard.writeText(text);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

start().catch((error) => {
  at("operation").replaceChildren(make("p", { class: "bad" }, `The page can't start: ${error.message}`));
});
