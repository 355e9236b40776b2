// What the page does without the server: citations open their sources, and Gradio's gaps in accessibility are filled.

window.scrollToQuote = (card) => {
  const list = card?.querySelector(".memoir-transcript ol"), line = list?.querySelector(".memoir-turn-cited");
  if (line) list.scrollTop = line.offsetTop - (list.clientHeight - line.clientHeight) / 2;
};

// An opened source scrolls to the quoted line.
document.addEventListener("toggle", (event) => {
  if (event.target.matches?.(".memoir-source[open]")) window.scrollToQuote(event.target);
}, true);

// A citation in an answer opens its source, which the server is asked for if the sources shown are another answer's.
let wanted = "", opener = null;

const openDrawer = (name, by) => {
  const drawer = document.querySelector(name);
  drawer.classList.add("memoir-open");
  drawer.scrollTop = 0;
  opener = by;
};

const openWanted = () => {
  const card = wanted && document.getElementById(wanted);
  if (!card) return;
  wanted = "";
  card.open = true;
  card.querySelector("summary").focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest" });
};

document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href*="#source-"]');
  if (!link) return;
  event.preventDefault();
  wanted = link.getAttribute("href").split("#")[1];
  openDrawer(".memoir-sheet", link); // it is one on a phone
  openWanted();
  if (wanted) window.showSources(Number(wanted.split("-")[1]));
}, true);

// A sentence that no memory supports says so when it is touched.
document.addEventListener("click", (event) => {
  const sentence = event.target.closest('a[href$="#unsupported"]');
  if (!sentence) return;
  event.preventDefault();
  event.stopPropagation();
  const told = document.querySelector("#unsupported"), place = sentence.getBoundingClientRect();
  told.style.top = `${place.bottom + 4}px`;
  told.style.left = `${Math.max(8, Math.min(place.left, innerWidth - 328))}px`;
  told.showPopover();
}, true);
for (const moved of ["keydown", "scroll"]) {
  document.addEventListener(moved, () => document.querySelector("#unsupported:popover-open")?.hidePopover(), true);
}

// A click on the menu of a chat asks what to do with it; a click on a memory shows it.
document.addEventListener("click", (event) => {
  const menu = event.target.closest("[data-menu]"), row = event.target.closest("#memory-list [data-memory]");
  if (menu) window.openMenu(menu.dataset.menu);
  if (!row) return;
  document.querySelectorAll("#memory-list [aria-current]").forEach((other) => other.removeAttribute("aria-current"));
  row.setAttribute("aria-current", "true");
  document.querySelector("#memory-side").scrollTop = 0;
  window.openMemory(row.dataset.memory);
});

// The arrow keys go from memory to memory.
document.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], rows = [...document.querySelectorAll("#memory-list [data-memory]")];
  const next = step && rows.includes(event.target) && rows[rows.indexOf(event.target) + step];
  if (!next) return;
  event.preventDefault();
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});

// The chip under a message that was remembered opens what it taught, to be edited or taken back.
document.addEventListener("click", (event) => {
  const chip = event.target.closest('a[href*="#remembered-"]'), button = event.target.closest("#remembered [data-do]");
  if (chip) {
    event.preventDefault();
    window.showRemembered({ turn: chip.getAttribute("href").split("#remembered-")[1], action: "" });
    document.querySelector("#remembered [popover]").showPopover();
  }
  if (!button) return;
  const action = button.dataset.do, row = button.closest("[data-memory]"), panel = button.closest("[popover]");
  if (action === "edit") {
    row.classList.add("memoir-editing");
    row.querySelector("textarea").focus();
  } else if (row) {
    const text = row.querySelector("textarea").value, turn = row.parentElement.dataset.turn;
    window.showRemembered({ turn, memory: row.dataset.memory, text, action: action === "save" ? "edit" : action });
  } else {
    panel.hidePopover();
    const tabs = action === "all" ? [...document.querySelectorAll('.memoir-tabs [role="tab"]')] : [];
    tabs.find((tab) => tab.textContent.trim() === "Memory")?.click();
  }
}, true);

window.showMemory = () => {
  window.scrollToQuote(document.querySelector("#memory-origin"));
  openDrawer("#memory-side", document.querySelector("#memory-list [aria-current]")); // it is one on a phone
};

const closeDrawers = () => {
  for (const drawer of document.querySelectorAll(".memoir-drawer.memoir-open")) {
    drawer.classList.remove("memoir-open");
    if (getComputedStyle(drawer).position === "fixed") opener?.focus({ preventScroll: true });
  }
};

document.addEventListener("click", (event) => {
  const button = event.target.closest(".memoir-open-chats");
  if (button) return openDrawer(".memoir-chats", button);
  const inside = event.target.closest('.memoir-drawer, a[href*="#source-"], .options');
  if (!inside || event.target.closest(".memoir-drawer-close, a[data-chat], #new-chat")) closeDrawers();
});

// A panel lies over the page until one clicks or types elsewhere, or presses Escape, which in a dropdown closes only that.
const closePanels = (event) => {
  const escaped = event.key === "Escape" && !event.target.closest?.("[aria-expanded], [role=listbox]");
  for (const open of document.querySelectorAll(".memoir-over > .label-wrap.open")) {
    const isNowhere = event.type === "keyup" && event.target === document.body; // Enter in a dropdown leaves it
    if (escaped || !(isNowhere || open.parentElement.contains(event.target))) open.click();
  }
};

const composer = () => document.querySelector("#composer textarea");

window.showChat = () => {
  closeDrawers();
  closePanels({ target: composer() });
  composer().focus();
};

// Not earlier in a click: what lies below a closing panel moves, and would be missed.
document.addEventListener("click", closePanels, true);
document.addEventListener("keyup", closePanels, true);

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeDrawers();
});

// A file that is dropped on the chat is imported: the panel opens with its preview.
const dropped = (event) => event.dataTransfer?.types.includes("Files") && event.target.closest?.(".memoir-main");

document.addEventListener("dragover", (event) => {
  if (dropped(event)) event.preventDefault();
}, true);

document.addEventListener("drop", (event) => {
  if (!dropped(event)) return;
  event.preventDefault();
  event.stopPropagation();
  const files = event.dataTransfer.files;
  document.querySelector("#bring-in > .label-wrap:not(.open)")?.click();
  document.querySelector('#upload [aria-label="Clear"]')?.click();
  const hand = (tries) => {
    const input = document.querySelector('#upload input[type="file"]');
    if (!input) return tries && setTimeout(hand, 50, tries - 1);
    input.files = files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  };
  hand(100);
}, true);

// What is copied is the message as it was written, without its citations and the backslashes that the chat box needs.
const isOfUser = (button) => button.closest(".message-buttons").classList.contains("message-buttons-right");
let copied = null;
document.addEventListener("click", (event) => {
  copied = event.target.closest('#chat .message-buttons [aria-label="Copy message"]');
}, true);

const plain = (text, ofUser) => {
  const said = text.replace(/\s*\[Remembered[^\]]*\]\(#remembered-[^]*$/, "");
  if (ofUser) return said.replace(/\\([!-\/:-@[-`{-~])/g, "$1");
  return said.replace(/\[([^\]]*)\]\(#unsupported "[^"]*"\)/g, "$1").replace(/ ?\[\d+\]\(#source-[\d-]+\)/g, "")
    .replace(/\\(?=<[a-zA-Z/!?]|!\[|\][(:])/g, "");
};

if (navigator.clipboard) {
  const write = navigator.clipboard.writeText.bind(navigator.clipboard);
  navigator.clipboard.writeText = (text) => write(copied ? plain(text, isOfUser(copied)) : text);
}

// The keyboard of a phone takes its part of the window, which the chat then does not fill.
document.querySelector('meta[name="viewport"]').content += ", interactive-widget=resizes-content";

// The chat fills the window from where it begins.
const measureTop = () => {
  const columns = document.querySelector(".memoir-columns");
  if (!columns?.offsetParent) return;
  const top = `${Math.round(columns.getBoundingClientRect().top + scrollY)}px`;
  if (document.documentElement.style.getPropertyValue("--memoir-top") !== top) {
    document.documentElement.style.setProperty("--memoir-top", top);
  }
};
addEventListener("resize", measureTop);

// Gradio's page holds what it hears of an event until its request is answered. It would show another chat that is asked
// for meanwhile, and then the one before again.
let requests = Promise.resolve();
const ask = window.fetch.bind(window);
window.fetch = (...all) => {
  const reply = ask(...all);
  if (String(all[0]).includes("/queue/join")) requests = Promise.allSettled([requests, reply]);
  return reply;
};

// What is sent, taken back, read to be edited or opened stands in line: each waits until the server is done with the one
// before, so that it belongs to the chat that one sees, or has just asked for.
let line = Promise.resolve(), resolveTurn = null;
const waiting = []; // the names of the events that stand in line
const isOpening = () => waiting.includes("select");

// Resolves to whether the server did it. What is to be done in a chat that could not be opened is not, nor twice what is
// pressed twice.
const standInLine = (event, detail) => {
  if (event !== "select" && waiting.includes(event)) return Promise.resolve(false);
  const isFirst = !waiting.length;
  waiting.push(event);
  const turn = line.then(async (isDone) => {
    await requests;
    return (isFirst || isDone || event === "select") && new Promise((resolve) => {
      resolveTurn = resolve;
      window.askServer(event, { ...detail, chat: shows });
    });
  });
  line = turn.finally(() => waiting.shift());
  return line;
};

window.endTurn = (isDone) => setTimeout(() => { // once the page shows it
  keepPlace();
  resolveTurn(isDone);
});

// The address names the chat, so that a reload and "Back" come to it. A half-written message stays with its chat: it is
// put away as one leaves, with which message of the user it takes the place of, if it is an edit.
let place = "", shows = "", edits = null;

const write = (text, message = null) => {
  edits = message;
  document.documentElement.toggleAttribute("data-edits", message !== null);
  composer().value = text;
  composer().dispatchEvent(new Event("input", { bubbles: true }));
};

const keepDraft = (of, text, message) => sessionStorage.setItem(`draft ${of}`, JSON.stringify({ text, message }));

const putAway = () => {
  if (place && !isOpening()) keepDraft(place, composer().value, edits);
};

const takeOut = () => {
  const draft = JSON.parse(sessionStorage.getItem(`draft ${place}`));
  sessionStorage.removeItem(`draft ${place}`); // or it would come back in a new chat after it was sent in the last
  if (draft?.text && !composer().value) write(draft.text, draft.message);
};

const keepPlace = () => {
  const now = document.querySelector("[data-place]")?.dataset;
  if (!now?.place || !composer() || (now.place === place && now.shows === shows)) return;
  const isOther = now.shows !== shows, isFirst = !place;
  if (isOther && !isFirst && !isOpening()) {
    putAway();
    write("");
  }
  if (location.search !== `?${now.place}`) {
    history[isOther && !isFirst ? "pushState" : "replaceState"](null, "", `?${now.place}`);
    scrollTo(0, 0); // on a phone the chats to choose from are below the chat
  }
  [place, shows] = [now.place, now.shows];
  if (isOther && !isOpening()) takeOut();
};

// What is written while another chat is opened belongs to that one.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-chat], #new-chat");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const opens = link.dataset.chat ?? "", sought = document.querySelector("#chat-search :is(input, textarea)")?.value ?? "";
  if (opens !== shows && !isOpening()) {
    putAway();
    write("");
  }
  // What is ticked meanwhile would be for the chat that one leaves, and lost.
  const forgetful = document.querySelector("#forgetful input");
  forgetful?.toggleAttribute("disabled", true);
  await standInLine("select", { opens });
  if (isOpening()) return;
  forgetful?.toggleAttribute("disabled", false);
  takeOut();
  document.querySelector("#chat .memoir-found")?.classList.remove("memoir-found");
  if (opens && sought.trim()) setTimeout(showFound, 200, sought.toLowerCase().split(/\s+/).filter(Boolean)); // Gradio scrolls first
}, true);

// A chat that was found by its words opens at the last message that has them.
const showFound = (words) => {
  const has = (message) => words.every((word) => message.textContent.toLowerCase().includes(word));
  const found = [...document.querySelectorAll("#chat .message")].findLast(has);
  found?.scrollIntoView({ block: "center" });
  found?.classList.add("memoir-found");
};

addEventListener("pagehide", putAway);

// A message leaves the composer at once, and comes back if the server refuses it. What is sent before the server has the
// last message stays in the composer.
let sent = null;

const send = async (text, message) => {
  sent = { text, edits: message };
  const isTaken = await standInLine("submit", sent);
  if (isTaken || !text) return;
  if (isOpening()) keepDraft(place, text, message);
  else write([text, composer().value].filter(Boolean).join("\n"), message);
};

window.sendMessage = (chosen) => {
  const text = chosen ?? composer().value, message = chosen ? null : edits;
  if (!text.trim() || !shows || waiting.includes("submit")) return;
  if (!chosen) write("");
  const log = document.querySelector('#chat [role="log"]');
  if (log) log.scrollTop = log.scrollHeight; // Gradio follows what comes only at the end of the chat
  send(text, message);
};

// Without a text, a message takes the place of itself.
window.sendAgain = () => isOpening() || send("", userRows().length - 1);

// The server gave back the text of a message that it could not answer; what it edits may still be there.
window.failAnswer = () => setTimeout(() => {
  if (composer().value && userRows().length > (sent?.edits ?? Infinity)) write(composer().value, sent.edits);
});

// The server puts a message of the user into the composer: the last, which it takes back, or one that is to be edited.
const userRows = () => [...document.querySelectorAll("#chat .user-row")];

const fetchMessage = async (event, message) => {
  const isDone = !isOpening() && (await standInLine(event, { message }));
  if (isDone) write(composer().value, message);
  if (!isDone || !isOpening()) return;
  keepDraft(place, composer().value, message);
  write("");
};

window.takeBack = () => userRows().length && fetchMessage("undo", null);

// The pencil beside a message, or the arrow up in an empty composer, is for editing.
document.addEventListener("click", (event) => {
  const pencil = event.target.closest('#chat .message-buttons [aria-label="Edit"]');
  if (event.target.closest("#edited")) write("");
  if (!pencil) return;
  event.stopPropagation();
  fetchMessage("edit", userRows().indexOf(pencil.closest(".message-buttons").previousElementSibling));
  composer().focus();
}, true);

document.addEventListener("keydown", (event) => {
  if (!event.target.matches("#composer textarea")) return;
  if (event.key === "Escape" && edits !== null) write("");
  if (event.key !== "ArrowUp" || event.target.value || !userRows().length) return;
  event.preventDefault();
  fetchMessage("edit", userRows().length - 1);
});

addEventListener("popstate", () => location.search !== `?${place}` && location.reload());

// A chat whose end is in view keeps it there when the keyboard or a note below takes a part of its height.
let height = 0;
const keepEnd = new ResizeObserver(([{ target }]) => {
  if (target.scrollTop + height > target.scrollHeight - 8) target.scrollTop = target.scrollHeight;
  height = target.clientHeight;
});

const setOnce = (element, name, value) => {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
};

// Gradio gives the inputs of a date no label, and lets no key reach a chat that scrolls without having a link, a table
// of a message, or one in which no cell is selected.
const fillGaps = () => {
  document.querySelectorAll('#chat [role="log"]').forEach((log) => keepEnd.observe(log));
  document.querySelectorAll('#chat :is([role="log"], table)').forEach((part) => setOnce(part, "tabindex", "0"));
  for (const box of document.querySelectorAll(".timebox")) {
    const label = box.parentElement.querySelector('[data-testid="block-info"], .label-content')?.textContent.trim();
    if (label) box.querySelectorAll("input").forEach((input) => setOnce(input, "aria-label", label));
    box.querySelectorAll(".calendar").forEach((open) => setOnce(open, "aria-label", `Choose a day: ${label || "date"}`));
  }
  for (const table of document.querySelectorAll('.table-wrap[role="grid"]')) {
    const chosen = table.querySelector('.body-cell[aria-selected="true"]');
    // A phone hides some columns, so take the first visible cell.
    const entry = chosen ?? [...table.querySelectorAll(".body-cell")].find((cell) => cell.checkVisibility());
    table.querySelectorAll('.body-cell[tabindex="0"]').forEach((cell) => cell === entry || setOnce(cell, "tabindex", "-1"));
    if (entry) setOnce(entry, "tabindex", "0");
  }
};

// Save a text that the server hands over as a file of the user's; the server writes none.
window.saveFile = (file) => {
  if (!file) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([file.text], { type: file.type }));
  link.download = file.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
};

// At most once per frame: the page changes all the time while an answer streams.
let scheduled = false;
new MutationObserver(() => {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    fillGaps();
    openWanted();
    keepPlace();
    measureTop();
  });
}).observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ["tabindex"] });
