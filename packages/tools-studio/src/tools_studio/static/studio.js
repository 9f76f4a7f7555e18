"use strict";

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

// ------------------------------------------------------------------------------------------------ requests

function say(text) {
  const toast = $("#status");
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => (toast.hidden = true), 4000);
}

async function request(url, body) {
  const options = body === undefined ? {} : { method: "POST", body: written(body), headers: { "content-type": "application/json" } };
  let response;
  try {
    response = await fetch(url, options);
  } catch {
    throw new Error("The studio does not answer. Is `ask-tools ui` still running?");
  }
  if (response.ok) return response;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  throw new Error($("main p", page)?.textContent ?? page.body.textContent);
}

const shown = new WeakMap(); // parts, and their HTML without the numbers of events

// The elements that a person may be using, each by a name that it has in the next HTML, too.
function places(element) {
  const fields = $$("form[data-post] :is(input:not([type=hidden]), textarea, button)", element);
  const named = fields.map((field) => [`${field.form.dataset.post} ${field.name} ${field.form.textContent}`, field]);
  return new Map([...named, ...$$("a[href]", element).map((link) => [link.href, link]), ...$$("[id]", element).map((each) => [each.id, each])]);
}

// Show the HTML of a response in an element; the focus stays where it was, and so does text that the person has written.
function swap(element, html) {
  shown.delete(element);
  const before = [...places(element)];
  const [focused] = before.find(([, each]) => each === document.activeElement) ?? [];
  const drafts = before.filter(([, each]) => each.matches("input, textarea") && each.closest("form[data-post]") && each.value !== each.defaultValue);
  element.innerHTML = html;
  const after = places(element);
  for (const [place, { value }] of drafts) if (after.has(place)) after.get(place).value = value;
  after.get(focused)?.focus();
  connect(element);
}

async function get(url, element) {
  try {
    swap(element, await (await request(url)).text());
  } catch (error) {
    say(error.message);
  }
}

function valuesOf(form, button) {
  const data = new FormData(form, button);
  return Object.fromEntries([...new Set(data.keys())].map((key) => [key, data.getAll(key).length > 1 ? data.getAll(key) : data.get(key)]));
}

async function post(url, body, source) {
  const part = source.closest("[data-src]");
  const number = known();
  try {
    const response = await request(url, body);
    if (response.redirected) location.href = response.url;
    else replace(part, await response.text(), number);
  } catch (error) {
    say(error.message);
  }
}

// A part that fetches itself again consists of one element, or is filled by its container. The same HTML is not shown
// again: the person may have begun to fill it in. `number` is the latest event before the request.
function replace(part, html, number) {
  const text = html.replace(/ data-number="\d+"/g, "");
  const holder = part.tagName === "SECTION" ? part.parentElement : part;
  part.dataset.number = number;
  if (shown.get(holder) !== text) {
    swap(holder, html);
    shown.set(holder, text);
  }
  if (part.isConnected && latest.get(part.dataset.topic) > number) refresh(part);
}

// ------------------------------------------------------------------------------------------------ events

const busy = new Map(); // parts that are fetched now, and whether they have to be fetched again

async function refresh(part) {
  const url = part.dataset.src;
  if (busy.has(url)) return busy.set(url, true);
  busy.set(url, false);
  try {
    const number = known();
    const html = await (await request(url)).text();
    const current = $(`[data-src="${CSS.escape(url)}"]`);
    const isAtEnd = innerHeight + scrollY > document.body.scrollHeight - 160;
    if (current) {
      replace(current, html, number);
      if (isAtEnd && url.endsWith("/timeline")) scrollTo(0, document.body.scrollHeight);
    }
  } catch (error) {
    say(error.message);
  }
  const again = busy.get(url);
  busy.delete(url);
  const next = $(`[data-src="${CSS.escape(url)}"]`);
  if (again && next) refresh(next);
}

const latest = new Map(); // the number of the latest event of each topic
const known = () => Math.max(0, ...latest.values());

// A browser has few connections to a server, so one page receives the events and passes them on to the others.
function listen() {
  const name = `ask-tools${document.body.dataset.root}`;
  const pages = new BroadcastChannel(name);
  pages.onmessage = ({ data }) => {
    if ("joined" in data) for (const [topic, number] of latest) number > data.joined && pages.postMessage({ topic, number });
    else show(data);
  };
  pages.postMessage({ joined: Number(document.body.dataset.number) });
  navigator.locks.request(name, () => new Promise(() => {
    const after = Math.max(document.body.dataset.number, ...latest.values());
    const events = new EventSource(`${document.body.dataset.root}/events?after=${after}`);
    const pass = (event) => (show(event), pages.postMessage(event));
    events.onerror = () => events.readyState === EventSource.CLOSED && pass({ ended: true });
    events.onmessage = (message) => pass(JSON.parse(message.data));
  }));
}

function show({ topic, number, ended }) {
  if (ended) return say("The studio has ended. Start it again: ask-tools ui");
  latest.set(topic, Math.max(number, latest.get(topic) ?? 0));
  for (const part of $$(`[data-topic="${CSS.escape(topic)}"]`)) if (number > part.dataset.number) refresh(part);
}

// ------------------------------------------------------------------------------------------------ pages

async function visit(url, push = true) {
  try {
    const page = new DOMParser().parseFromString(await (await request(url)).text(), "text/html");
    document.title = page.title;
    $(".frame").className = $(".frame", page).className;
    if (push) history.pushState(null, "", url);
    swap($("#main"), $("#main", page).innerHTML);
    $("#main").focus();
    scrollTo(0, 0);
    mark();
  } catch {
    location.href = url;
  }
}

function mark() {
  for (const link of $$(".entries a")) {
    if (link.pathname === location.pathname) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function filter(input) {
  const list = $(input.dataset.filter);
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const entry of $$("[data-words]", list)) {
    entry.hidden = !words.every((word) => entry.dataset.words.includes(word));
    count += !entry.hidden;
  }
  for (const section of $$("section", list)) section.hidden = !$("[data-words]:not([hidden])", section);
  const none = $(".none", list);
  if (none) none.hidden = count > 0;
}

function select(tab) {
  for (const other of $$("[role=tab]", tab.parentElement)) {
    other.setAttribute("aria-selected", other === tab);
    other.tabIndex = other === tab ? 0 : -1;
    document.getElementById(other.getAttribute("aria-controls")).hidden = other !== tab;
  }
}

async function copy(text) {
  await navigator.clipboard.writeText(text);
  say("Copied");
}

// ------------------------------------------------------------------------------------------------ arguments of a tool

const parts = (field) => $$(":scope > .fields > .field, :scope > .fields > .item > .field", field);
const typed = (field) => $(":scope > input, :scope > select, :scope > textarea", field);
const member = (path, name) => (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? (path ? `${path}.${name}` : name) : `${path}[${JSON.stringify(name)}]`);

// Each reader returns the value of a field, or undefined if it is empty. An empty text counts if it was given as JSON, or
// if it is required and the person has edited it.
const readers = {
  text: (field) => typed(field).value || ("empty" in field.dataset || ("required" in field.dataset && "touched" in field.dataset) ? "" : undefined),
  date: (field) => typed(field).value || undefined,
  time: (field) => typed(field).value || undefined,
  bytes: (field) => typed(field).dataset.base64,
  choice: (field) => (typed(field).value ? exact(typed(field).value) : undefined),
  json: (field) => parse(typed(field).value),
  flag: (field) => (typed(field).type === "checkbox" ? typed(field).checked : typed(field).value ? typed(field).value === "true" : undefined),
  number: (field) => {
    const text = typed(field).value.trim();
    const isExact = /^-?\d+$/.test(text) ? Number.isSafeInteger(Number(text)) : text && isFinite(Number(text));
    return text ? (isExact ? Number(text) : /^-?\d+$/.test(text) ? MARK + text : text) : undefined;
  },
  "date-time": (field) => {
    const { value, dataset } = typed(field);
    if (!value || dataset.raw?.startsWith(value)) return value ? dataset.raw : undefined;
    const minutes = -new Date(value).getTimezoneOffset();
    const two = (number) => String(Math.floor(Math.abs(number))).padStart(2, "0");
    return `${value.length < 17 ? `${value}:00` : value}${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
  },
  list: (field, path) => {
    const items = parts(field).map((part, index) => read(part, `${path}[${index}]`) ?? null);
    return items.length || "required" in field.dataset || (field.dataset.default ?? "null") !== "null" ? items : undefined;
  },
  map: (field, path) => {
    const keys = $$(":scope > .fields > .item > .key", field);
    const entries = parts(field).map((part, index) => [keys[index].value, read(part, member(path, keys[index].value)) ?? null]);
    return entries.length || "required" in field.dataset ? Object.fromEntries(entries) : undefined;
  },
  object: (field, path) => {
    const entries = parts(field).map((part) => [part, read(part, member(path, part.dataset.name))]).filter(([, value]) => value !== undefined);
    const isEmpty = entries.every(([part]) => "constant" in part.dataset);
    return isEmpty && !("required" in field.dataset) ? undefined : Object.fromEntries(entries.map(([part, value]) => [part.dataset.name, value]));
  },
  union: (field, path) => {
    const variant = $(":scope > .variant", field).value;
    return variant === "" ? undefined : read($(":scope > .field", $$(":scope > .fields > .choice-of", field)[variant]), path);
  },
};

function parse(text) {
  if (!text.trim()) return undefined;
  try {
    return exact(text);
  } catch {
    return text; // the tool reports it
  }
}

// Numbers that JavaScript would change, such as those above 2^53, are texts behind a mark until they are written again.
const MARK = "\u0001number ";
const isKept = (digits) => (/^-?\d+$/.test(digits) ? Number.isSafeInteger(Number(digits)) : isFinite(Number(digits)));

function exact(text) {
  const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  const marked = text.replace(token, (part) => (part.startsWith('"') || isKept(part) ? part : JSON.stringify(MARK + part)));
  return JSON.parse(marked);
}

function written(value, indent) {
  return JSON.stringify(value, null, indent).replace(/"\\u0001number ([^"]*)"/g, "$1");
}

function read(field, path) {
  field.dataset.path = path;
  const value = readers[field.dataset.kind](field, path);
  const isDefault = !("required" in field.dataset) && value !== undefined && written(value) === field.dataset.default;
  return isDefault ? undefined : value;
}

class ArgumentsForm {
  constructor(form) {
    this.form = form;
    this.url = form.dataset.tool;
    this.number = 0;
    this.text = $("#as-json textarea", form);
    form.addEventListener("input", (event) => this.changed(event.target));
    form.addEventListener("change", (event) => this.changed(event.target));
    form.addEventListener("submit", (event) => (event.preventDefault(), this.run()));
    form.addEventListener("click", (event) => this.clicked(event.target.closest("button")));
    this.forecast();
  }

  get isJson() {
    return !$("#as-json", this.form).hidden;
  }

  // Return the arguments, or undefined for text that is not a JSON object.
  get values() {
    if (!this.isJson) {
      const fields = $$("#as-form > .field", this.form).map((field) => [field.dataset.name, read(field, member("", field.dataset.name))]);
      return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
    }
    const value = parse(this.text.value || "{}");
    return value && typeof value === "object" && !Array.isArray(value) ? value : undefined;
  }

  changed(target) {
    if (target.name === "in_copy") return;
    if (target.type === "file" && target.files[0] && target.dataset.name !== target.files[0].name) return this.readFile(target);
    if (target.className === "variant") $$(":scope > .fields > .choice-of", target.parentElement).forEach((part, index) => (part.hidden = String(index) !== target.value));
    target.closest(".field")?.setAttribute("data-touched", "");
    target.closest(".field")?.removeAttribute("data-empty");
    this.soon();
  }

  readFile(input) {
    const reader = new FileReader();
    reader.onload = () => {
      input.dataset.base64 = reader.result.split(",")[1] ?? "";
      this.soon();
    };
    reader.readAsDataURL(input.files[0]);
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.forecast(), 200);
  }

  async clicked(button) {
    if (!button) return;
    if (button.classList.contains("add")) {
      const field = button.parentElement;
      $(":scope > .fields", field).append($(":scope > template", field).content.cloneNode(true));
      $(":scope > .fields > .item:last-child :is(input, textarea, select)", field)?.focus();
    } else if (button.classList.contains("remove")) {
      button.parentElement.remove();
    } else if (button.id === "tab-json") {
      this.text.value = written(this.beforeTab ?? {}, 2);
    } else if (button.id === "tab-form") {
      if (this.beforeTab) return this.fill(this.beforeTab);
      select(button);
    } else return;
    this.soon();
  }

  // Show the form with these values; until then nobody can write into the old one.
  async fill(values) {
    const views = [$("#as-form", this.form), this.text];
    for (const view of views) view.inert = true;
    try {
      swap($("#as-form", this.form), await (await request(`${this.url}/form`, values)).text());
      select($("#tab-form", this.form));
    } catch (error) {
      say(error.message);
    }
    for (const view of views) view.inert = false;
    await this.forecast();
  }

  async forecast() {
    const values = this.values;
    const number = ++this.number;
    if (values === undefined) return this.show({ outcome: "invalid", problems: [{ path: "", text: "is not a JSON object" }] });
    try {
      const forecast = await (await request(`${this.url}/forecast`, values)).json();
      if (number === this.number && this.form.isConnected) this.show(forecast);
    } catch (error) {
      say(error.message);
    }
  }

  show(forecast) {
    this.latest = forecast;
    if (forecast.html) replace($("#forecast"), forecast.html);
    const button = $("[type=submit]", this.form);
    button.textContent = { ask: "Approve and run", deny: "Denied by the policy" }[forecast.outcome] ?? "Run";
    button.disabled = forecast.outcome === "deny";
    this.showProblems(forecast.problems);
  }

  showProblems(problems) {
    const fields = new Map($$("#as-form .field", this.form).map((field) => [field.dataset.path, field]));
    for (const text of $$(".problem-text", this.form)) text.hidden = true;
    for (const field of $$("[aria-invalid]", this.form)) field.removeAttribute("aria-invalid");
    for (const { path, text } of problems) {
      const field = this.isJson ? undefined : fields.get(path);
      if (!(this.tried || (field && "touched" in field.dataset) || (this.isJson && !path))) continue;
      const place = field ? $(":scope > .problem-text", field) : $("#root-problem", this.form);
      place.textContent = field ? text : `${place.hidden ? "" : `${place.textContent}; `}${path} ${text}`;
      place.hidden = false;
      if (field) typed(field)?.setAttribute("aria-invalid", "true");
    }
  }

  focusProblem() {
    const problem = $(".problem-text:not([hidden])", this.form);
    problem?.scrollIntoView({ block: "nearest" });
    $("input, select, textarea, button", problem?.closest(".field") ?? this.text.parentElement)?.focus();
  }

  async run() {
    clearTimeout(this.timer);
    this.tried = true;
    await this.forecast();
    const { outcome, key } = this.latest;
    if (outcome === "deny") return;
    if (outcome === "invalid") return this.focusProblem();
    try {
      const body = { arguments: this.values, key, in_copy: $("[name=in_copy]", this.form).checked };
      const number = known();
      replace($("#calls"), await (await request(`${this.url}/calls`, body)).text(), number);
      $("#calls").scrollIntoView({ block: "nearest" });
    } catch (error) {
      say(error.message);
    }
  }
}

// ------------------------------------------------------------------------------------------------ start

let argumentsForm;

function connect(root) {
  const form = $("form.arguments", root);
  if (form) argumentsForm = new ArgumentsForm(form);
  for (const element of $$("select[data-get]", root)) get(element.dataset.get + element.value, $(element.dataset.target));
  // Events may have arrived between the request and now.
  for (const part of $$("[data-src]", root)) if (latest.get(part.dataset.topic) > part.dataset.number) refresh(part);
  for (const input of $$("[data-filter]")) if (input.value) filter(input);
  $("[autofocus]", root)?.focus();
}

document.addEventListener("click", async (event) => {
  const target = event.target.closest("button, a, summary");
  for (const menu of $$("details.menu[open]")) if (!menu.contains(event.target) || target?.dataset.copy) menu.open = false;
  if (!target) return;
  const { dataset } = target;
  if (target.id === "theme") {
    const isDark = getComputedStyle(document.documentElement).colorScheme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    const theme = isDark ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    document.cookie = `theme=${theme}; path=/; max-age=31536000; samesite=strict`;
  } else if ("main" in dataset && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    visit(target.href);
  } else if (target.role === "tab" && target.id !== "tab-form") select(target);
  else if ("copy" in dataset) copy(dataset.copy);
  else if ("example" in dataset) {
    await argumentsForm.fill(exact(dataset.example));
    if ("run" in dataset) argumentsForm.run();
    else argumentsForm.form.scrollIntoView({ block: "nearest" });
  } else if ("post" in dataset) {
    target.disabled = true;
    await post(dataset.post, "form" in dataset ? valuesOf(target.form) : JSON.parse(dataset.body ?? "{}"), target);
    target.disabled = false;
  } else if (target.classList.contains("toggle")) {
    const [text, rendered] = target.parentElement.querySelectorAll(":scope > pre, :scope > .prose");
    text.hidden = !text.hidden;
    rendered.hidden = !text.hidden;
    target.setAttribute("aria-pressed", text.hidden);
  }
});

// The second click of a double click repeats no request.
document.addEventListener("click", (event) => {
  if (event.detail > 1 && event.target.closest("form[data-post] button, [type=submit], [data-post], [data-run]")) {
    event.preventDefault();
    event.stopPropagation();
  }
}, true);

// In the capturing phase: a form reads its values before the tab shows the other view.
document.addEventListener("click", (event) => {
  const tab = event.target.closest("#tab-form, #tab-json");
  if (tab && argumentsForm) argumentsForm.beforeTab = argumentsForm.values;
}, true);

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!("post" in form.dataset)) return;
  event.preventDefault();
  post(form.dataset.post, valuesOf(form, event.submitter), form);
});

document.addEventListener("input", (event) => "filter" in event.target.dataset && filter(event.target));
document.addEventListener("change", (event) => event.target.matches("select[data-get]") && get(event.target.dataset.get + event.target.value, $(event.target.dataset.target)));

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  const isTyping = target.matches("input, textarea, select");
  if (key === "/" && !isTyping) {
    event.preventDefault();
    $("[data-filter]")?.focus();
  } else if (key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat) target.closest("form")?.requestSubmit();
  else if (target.role === "tab" && ["ArrowLeft", "ArrowRight"].includes(key)) {
    const tabs = $$("[role=tab]", target.parentElement);
    const next = tabs[(tabs.indexOf(target) + (key === "ArrowRight" ? 1 : tabs.length - 1)) % tabs.length];
    next.focus();
    next.click();
  } else if (["ArrowDown", "ArrowUp"].includes(key) && target.closest(".side") && target.tagName !== "TEXTAREA") {
    event.preventDefault();
    const links = $$(".entries [data-words]:not([hidden]) a");
    const index = links.indexOf(target);
    (links[key === "ArrowDown" ? index + 1 : index - 1] ?? (key === "ArrowUp" ? $("[data-filter]") : undefined))?.focus();
  } else if (key === "Escape") {
    const menu = target.closest("details.menu[open]");
    if (menu) (menu.open = false), $("summary", menu).focus();
    else if ("filter" in target.dataset) (target.value = ""), filter(target);
  }
});

addEventListener("popstate", () => visit(location.href, false));
mark();
connect(document);
listen();
