// Puts the page together, and keys.

function updateSummary() {
  const { Total: total, Lost: lost, Filtered: filtered } = trace;
  const length = Number(BigInt(trace.Last) - BigInt(trace.First));
  const processes = new Set(trace.blocks.flatMap(b => b.tasks.map(t => t.PID))).size;
  const list = $("summary");
  list.textContent = "";
  const tile = (name, text, value, warn) => {
    const dd = withUnit(el("dd", warn ? "warn" : ""), text);
    dd.id = "total-" + name.toLowerCase();
    dd.dataset.value = value;
    list.append(el("div", "", el("dt", "", name), dd));
  };
  tile("Events", count(total), total);
  tile("Lost", count(lost), lost, lost > 0);
  if (filtered) tile("Filtered", count(filtered), filtered);
  tile("Probes", count(trace.Probes.length), trace.Probes.length);
  tile("Processes", count(processes), processes);
  tile("Time", durationText(length), length);
  if (total > 1 && length > 0) tile("Rate", perSecond(total / length * 1e9), total / length * 1e9);
  $("command").textContent = trace.Command;
  $("command").title = trace.Command;
  document.title = "sdttrace · " + (trace.order.slice(0, 3).map(p => trace.Probes[p].Name).join(", ") || "no events");
  const kept = $("kept");
  if (trace.Kept < trace.Total) {
    kept.textContent = `The table has the newest ${count(trace.Kept)} of ${plural(trace.Total, "event")}, from ${clock(Number(BigInt(trace.Complete) - trace.first))} on. Counts, charts, latencies and stacks are of all ${count(trace.Total)}.`;
  }
  kept.hidden = trace.Kept >= trace.Total;
  $("why").textContent = trace.Why ? trace.Why.join("; ") : "";
  $("why").hidden = !trace.Why;
  $("notes").textContent = trace.Notes ? trace.Notes.join("; ") : "";
  $("notes").hidden = !trace.Notes;
}

function setUpKeys() {
  const help = $("help"), sections = ["probes", "latency", "rate", "flame", "numbers", "events"];
  $("help-button").addEventListener("click", () => help.showModal());
  const main = { probes: "tree-find", rate: "rate-canvas", latency: "heat-canvas", numbers: "numbers", flame: "flame-canvas", events: "grid" };
  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || help.open) return;
    const writing = /INPUT|SELECT|TEXTAREA/.test(e.target.tagName);
    if (writing) {
      if (e.key === "Escape") {
        e.target.value = "";
        e.target.dispatchEvent(new Event("input"));
        e.target.blur();
      } else if (e.key === "Enter" && e.target.id === "filter") $("grid").focus();
      return;
    }
    if (e.key === "/") go("filter");
    else if (e.key === "f" && !$("flame").hidden) go("flame-search");
    else if (e.key === "?") help.showModal();
    else if (e.key >= "0" && e.key <= "5" && !$(sections[+e.key]).hidden) {
      $(sections[+e.key]).scrollIntoView();
      const to = $(main[sections[+e.key]]);
      to.focus({ preventScroll: true });
      e.preventDefault();
    }
    function go(id) {
      e.preventDefault();
      $(id).closest("section").scrollIntoView();
      $(id).focus({ preventScroll: true });
    }
  });
}

// update shows what is known now, except the table.
function update() {
  const some = trace.Total > 0 || !("tree" in document.documentElement.dataset);
  part("rate", trace.Total > 0);
  part("events", some);
  updateSummary();
  $("summary").hidden = !some;
  updateLatency();
  updateRate();
  updateFlame();
  updateNumbers();
  redraw();
}

// start sets the page up, once there is something to show.
async function start() {
  $("loading").hidden = true;
  setUpLatency();
  setUpRate();
  setUpFlame();
  setUpNumbers();
  setUpTable();
  setUpKeys();
  update();
  await refilter();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readTheme(); updateProbes(true); redraw(); });
  matchMedia("print").addEventListener?.("change", redraw);
  new ResizeObserver(redraw).observe(document.querySelector("main"));
  // For tests, and for who wants to know.
  document.documentElement.dataset.loaded = Math.round(performance.now());
}

// fail says why there is nothing to show.
function fail(e) {
  const loading = $("loading");
  loading.hidden = false;
  loading.className = "note";
  loading.textContent = "This page cannot be shown: " + (typeof DecompressionStream === "undefined" ? "the browser is too old to decompress what it holds (it takes Chromium 80, Firefox 113 or Safari 16.4)." : e.message);
  console.error(e);
}
