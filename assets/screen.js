// A citation in an answer opens its source; an opened source shows the quoted line.
window.showQuoted = (card) => {
  const list = card?.querySelector(".memoir-transcript ol"), line = list?.querySelector(".memoir-turn-cited");
  if (line) list.scrollTop = line.offsetTop - (list.clientHeight - line.clientHeight) / 2;
};
document.addEventListener("toggle", (event) => {
  if (event.target.matches?.(".memoir-source[open]")) window.showQuoted(event.target);
}, true);
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
