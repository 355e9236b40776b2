// What the page does by itself: citations open their sources, and parts that Gradio leaves without a name get one.

window.showQuoted = (card) => {
  const list = card?.querySelector(".memoir-transcript ol"), line = list?.querySelector(".memoir-turn-cited");
  if (line) list.scrollTop = line.offsetTop - (list.clientHeight - line.clientHeight) / 2;
};

// An opened source shows the quoted line.
document.addEventListener("toggle", (event) => {
  if (event.target.matches?.(".memoir-source[open]")) window.showQuoted(event.target);
}, true);

// A citation in an answer opens its source.
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href*="#source-"]');
  if (!link) return;
  event.preventDefault();
  const card = document.getElementById(link.getAttribute("href").split("#")[1]);
  if (!card) return;
  for (let box = card; box; box = box.parentElement?.closest("details")) box.open = true;
  card.querySelector("summary").focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest" });
}, true);

const give = (part, name, value) => {
  if (part.getAttribute(name) !== value) part.setAttribute(name, value);
};

// Gradio leaves the parts of a date without a name, and a table in which no cell is chosen out of the reach of keys.
const mend = () => {
  for (const box of document.querySelectorAll(".timebox")) {
    const label = box.parentElement.querySelector('[data-testid="block-info"], .label-content')?.textContent.trim();
    if (label) box.querySelectorAll("input").forEach((input) => give(input, "aria-label", label));
    box.querySelectorAll(".calendar").forEach((open) => give(open, "aria-label", `Choose a day: ${label || "date"}`));
  }
  for (const table of document.querySelectorAll('.table-wrap[role="grid"]')) {
    const chosen = table.querySelector('.body-cell[aria-selected="true"]');
    // A phone hides some columns.
    const way = chosen ?? [...table.querySelectorAll(".body-cell")].find((cell) => cell.checkVisibility());
    table.querySelectorAll('.body-cell[tabindex="0"]').forEach((cell) => cell === way || give(cell, "tabindex", "-1"));
    if (way) give(way, "tabindex", "0");
  }
};

// At most once a frame: while an answer streams, the page changes all the time.
let due = false;
new MutationObserver(() => {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    mend();
  });
}).observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ["tabindex"] });
