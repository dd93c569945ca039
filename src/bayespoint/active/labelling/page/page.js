// The labelling page. Text of the pool becomes text of the page, never markup.

import { chart } from "./chart.js";

const tab = Array.from(crypto.getRandomValues(new Uint8Array(12)), b => b.toString(16).padStart(2, "0")).join("");
const $ = id => document.getElementById(id);
const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
const percent = share => `${(100 * share).toFixed(1)} %`;
const PAUSE = 2000; // milliseconds between two looks at the numbers
let classes = [], item = null, busy = false, gone = false;

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// A name whose lines may also end behind its signs: of accident_and_emergency, or of sport/football.
function breakable(name) {
  return name.split(/(?<=[_/\\|&+])(?=[^_/\\|&+\s])/).flatMap((part, place) => place ? [element("wbr"), part] : [part]);
}

// Talking to the server --------------------------------------------------------------------------

async function ask(place, body) {
  const options = body && {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ tab, ...body }),
  };
  const response = await fetch(body ? place : `${place}?tab=${tab}`, options);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

function trouble(error) {
  const lost = error instanceof TypeError; // of fetch: nobody answers
  $("trouble").textContent = lost
    ? "The server does not respond. Start bayespoint label again, and open the address that it prints: all answers so far are saved."
    : `Error: ${error.message}`;
  $("trouble").hidden = false;
}

async function act(place, body) {
  if (busy || gone) return;
  busy = true;
  try {
    show(await ask(place, body));
    $("trouble").hidden = true;
  } catch (error) {
    trouble(error);
  }
  busy = false;
}

const answer = label => item && act("answer", { row: item.row, label });
const undo = () => act("undo", {});
const look = row => act("look", { row });
const named = label => label === null ? "“cannot say”" : `“${label}”`;

// The row ----------------------------------------------------------------------------------------

function show(found) {
  item = found.item;
  const shown = !item ? [element("p", { className: "done", textContent: "Every row has an answer." })] : views(item);
  $("item").replaceChildren(...shown);
  $("item").className = `item ${item ? item.kind : ""}`;
  const isOther = $("item").dataset.row !== String(item ? item.row : "");
  $("item").dataset.row = item ? item.row : "";
  if (isOther && $("item").getBoundingClientRect().top < 0) $("item").scrollIntoView(); // a row is read from its top
  $("second").hidden = !item?.second;
  $("second").replaceChildren(...(item?.second ? breakable(`Second look: the answer was ${named(item.before)}. Is that right?`) : []));
  for (const button of $("classes").children) button.disabled = !item;
  $("skip").disabled = !item;
  if (found.last) showLast(found.last);
  else $("last").textContent = "";
  showOpinion();
  showState(found.state);
}

function views(item) {
  const made = [];
  if (item.image) made.push(element("img", { src: item.image, alt: `Picture of row ${item.number}` }));
  if (item.text !== undefined) made.push(element("p", { className: "text", textContent: item.text }));
  const cells = item.fields.map(([name, words]) =>
    element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: words || "–" })));
  if (cells.length) made.push(element("dl", { className: "cells" }, ...cells));
  made.push(element("p", { className: "rownumber", textContent: `row ${item.number}` }));
  return made;
}

function showLast({ number, label, opinion }) {
  let words = `Row ${number}: ${named(label)}.`;
  if (opinion) words += ` The model thought “${opinion[0][0]}” (${percent(opinion[0][1])}).`;
  $("last").replaceChildren(...breakable(words));
  $("last").classList.toggle("differs", Boolean(opinion) && label !== null && opinion[0][0] !== label);
}

// The last answers, to be looked at again.
async function showPast() {
  try {
    const found = await ask("past");
    $("past-list").replaceChildren(...found.map(one => {
      const shown = one.image ? element("img", { src: one.image, alt: "" })
        : element("span", { className: "text", textContent: (one.text ?? one.fields.map(field => field.join(" ")).join(", ")).slice(0, 120) });
      const button = element("button", { type: "button" }, element("strong", {}, ...breakable(one.label ?? "cannot say")), shown,
        element("span", { className: "note", textContent: `row ${one.number}` }));
      button.addEventListener("click", () => { $("past").close(); look(one.row); });
      return button;
    }));
    if (!found.length) $("past-list").textContent = "There are none yet.";
    $("past").showModal();
  } catch (error) {
    trouble(error);
  }
}

function showOpinion() {
  const shares = new Map($("opinion").checked && item?.opinion ? item.opinion : []);
  for (const button of $("classes").children) {
    const share = shares.get(button.dataset.label);
    button.querySelector(".share").textContent = share === undefined ? "" : percent(share);
    button.style.setProperty("--share", share ?? 0);
  }
}

// The numbers ------------------------------------------------------------------------------------

function showState(state) {
  if (item && state.opinion) {
    item.opinion = state.opinion;
    showOpinion();
  }
  $("labels").textContent = state.labels;
  $("left").textContent = `${count(state.open, "row")} left` + (state.skipped ? `, ${state.skipped} skipped` : "");
  $("counts").replaceChildren(...state.counts.flatMap(([name, n], place) =>
    [place ? " " : "", element("span", {}, ...breakable(`${name}: ${n}${place < state.counts.length - 1 ? "," : ""}`))]));
  const error = state.error;
  $("error").textContent = error ? percent(error.value) : "–";
  $("interval").textContent = error ? `${percent(error.low)} to ${percent(error.high)}, of ${count(error.n, "label")}` : "";
  $("chart").replaceChildren(...(state.history.length > 1 ? [chart(state.history)] : []));
  const fall = state.fall;
  $("fall").textContent = fall === null ? "–" : fall < 5e-5 ? "less than 0.01 %" : `${(100 * fall).toFixed(2)} %`;
  $("rest").textContent = state.rest === null ? "" : `of the rows; the error expected on rows without a label is ${percent(state.rest)}`;
  $("advice").textContent = state.advice;
  $("brief").textContent = [count(state.labels, "label"), error && `error ${percent(error.value)} (${percent(error.low)} to ${percent(error.high)})`,
    fall !== null && `the next label lowers it by ${$("fall").textContent}`].filter(Boolean).join(" · ") + `. ${state.advice}`;
  $("problem").hidden = !state.problem;
  $("problem").textContent = `The model could not learn: ${state.problem}`;
  $("look").hidden = !state.suspects;
  $("look").replaceChildren(state.suspects === 1 ? "Look again at a suspect label " : `Look again at ${state.suspects} suspect labels `,
    element("kbd", { textContent: "L" }));
  $("undo").disabled = !state.can_undo;
}

async function refresh() {
  if (busy || gone) return;
  try {
    showState(await ask("state"));
  } catch (error) {
    trouble(error);
  }
}

// Classes and keys -------------------------------------------------------------------------------

// Classes that are digits have their own key; others are counted, and the tenth is 0.
function keyOf(place) {
  if (classes.every(name => /^[0-9]$/.test(name))) return classes[place];
  return place < 9 ? String(place + 1) : place === 9 ? "0" : "";
}

function showClasses() {
  $("classes").replaceChildren(...classes.map((name, place) => {
    const key = keyOf(place);
    const button = element("button", { type: "button", className: "class" },
      element("kbd", { textContent: key, hidden: !key }),
      element("span", { className: "name" }, ...breakable(name)),
      element("span", { className: "share" }));
    button.dataset.label = name;
    button.addEventListener("click", () => { button.blur(); answer(name); });
    return button;
  }));
  $("search").hidden = classes.length <= 10;
  const rows = classes.map((name, place) => [keyOf(place), name]).filter(([key]) => key);
  if (rows.length < classes.length) rows.push(["/", "find one of the other classes, then enter"]);
  rows.push(["space", "cannot say: the row is not shown again"], ["⌫", "undo, as often as you like"], ["L", "look again at a suspect label"],
    ["A", "list of your answers, to change one"], ["O", "show or hide the prediction of the model"], ["?", "this list"]);
  $("key-list").replaceChildren(...rows.map(([key, words]) =>
    element("tr", {}, element("td", {}, element("kbd", { textContent: key })), element("td", { textContent: words }))));
}

function filterClasses() {
  const wanted = $("search").value.toLowerCase();
  for (const button of $("classes").children) button.hidden = !button.dataset.label.toLowerCase().includes(wanted);
}

function leaveSearch() {
  $("search").value = "";
  filterClasses();
  $("search").blur();
}

function onSearchKey(event) {
  if (event.key === "Enter") {
    const first = [...$("classes").children].find(button => !button.hidden);
    leaveSearch();
    if (first) answer(first.dataset.label);
  } else if (event.key === "Escape") {
    leaveSearch();
  }
}

function onKey(event) {
  const open = document.querySelector("dialog[open]");
  if (event.target === $("search") || open || event.ctrlKey || event.metaKey || event.altKey) return;
  const place = classes.findIndex((_, i) => keyOf(i) === event.key);
  const actions = {
    " ": () => answer(null), Backspace: undo, "?": () => $("keys").showModal(),
    l: () => look(), a: showPast, o: () => { $("opinion").click(); $("opinion").blur(); }, "/": () => !$("search").hidden && $("search").focus(),
  };
  const action = place >= 0 && event.key !== "" ? () => answer(classes[place]) : actions[event.key] ?? actions[event.key.toLowerCase()];
  if (!action) return;
  event.preventDefault();
  if (!event.repeat) action(); // a key that is held down is one answer
}

// Beginning and end ------------------------------------------------------------------------------

async function begin() {
  try {
    const found = await ask("begin");
    classes = found.classes;
    $("pool").textContent = document.title = found.pool;
    $("downloads").replaceChildren(...found.downloads.map(name =>
      element("li", {}, element("a", { href: `export/${encodeURIComponent(name)}`, textContent: name, download: name }))));
    $("instructions").hidden = !found.instructions;
    $("instructions").querySelector("p").textContent = found.instructions;
    showClasses();
    show(found);
  } catch (error) {
    trouble(error);
  }
}

async function end() {
  await ask("end", {}).catch(() => {});
  gone = true;
  document.body.replaceChildren(element("main", {}, element("h1", { textContent: "The session has ended" }),
    element("p", { textContent: "The labels, the model and the tasks of Label Studio are being written next to your answers. You can close this page." })));
}

for (const [id, action] of Object.entries({ skip: () => answer(null), undo, look: () => look(),
  "past-button": showPast, "keys-button": () => $("keys").showModal(), "finish-button": () => $("finish").showModal() })) {
  $(id).addEventListener("click", () => { $(id).blur(); action(); });
}
$("opinion").checked = localStorage.getItem("opinion") === "yes";
$("opinion").addEventListener("change", () => {
  localStorage.setItem("opinion", $("opinion").checked ? "yes" : "no");
  showOpinion();
});
$("search").addEventListener("input", filterClasses);
$("search").addEventListener("keydown", onSearchKey);
$("end").addEventListener("click", end);
addEventListener("keydown", onKey);
addEventListener("pagehide", () => gone || navigator.sendBeacon("close", new Blob([JSON.stringify({ tab })], { type: "application/json" })));
addEventListener("pageshow", event => { if (event.persisted) location.reload(); });
setInterval(refresh, PAUSE);
begin();
