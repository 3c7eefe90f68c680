// The tree of the machine's probes: which provider has them, which processes, who watches them.

const tree = { data: null, attach: false, opened: new Map(), providers: new Map(), probes: new Map(), changing: new Set(), every: 2000 };

const keyOf = p => `${p.Provider}:${p.Name}`;
const processesOf = probes => new Set(probes.flatMap(p => p.Processes.map(w => w.PID))).size;
const watchedOf = p => processesOf([{ Processes: p.Processes.filter(w => w.By !== "-") }]);

// keep gives a parent these children, in order, and moves only children that have another place.
function keep(parent, children) {
  children.forEach((c, i) => { if (parent.children[i] !== c) parent.insertBefore(c, parent.children[i] || null); });
  while (parent.children.length > children.length) parent.lastChild.remove();
}

// folder makes a part of the tree that can be opened.
function folder(className, key) {
  const details = el("details", className, el("summary", ""));
  details.addEventListener("click", e => { // not by the program
    if (e.target.closest("summary")?.parentNode === details) tree.opened.set(key, !details.open);
  });
  return details;
}

function providerNode(name) {
  if (!tree.providers.has(name)) {
    const node = folder("provider", name);
    node.dataset.provider = name;
    node.append(el("div", "probes"));
    tree.providers.set(name, node);
  }
  return tree.providers.get(name);
}

function probeNode(p) {
  const key = keyOf(p);
  if (!tree.probes.has(key)) {
    const details = folder("", key), node = el("div", "probe", details);
    const scroll = el("div", "scroll", el("table", "", el("tbody", "")));
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "group");
    scroll.setAttribute("aria-label", `Processes that have ${key}`);
    details.append(scroll);
    node.dataset.probe = key;
    if (tree.attach) {
      const button = el("button", "");
      button.type = "button";
      button.addEventListener("click", () => changeProbe(key));
      node.append(button);
    }
    tree.probes.set(key, node);
  }
  return tree.probes.get(key);
}

function updateProbeNode(p) {
  const node = probeNode(p), [details, button] = node.children, [summary, into] = details.children;
  const watched = watchedOf(p), processes = processesOf([p]);
  Object.assign(node.dataset, { processes, watched, attached: p.Attached });
  summary.textContent = "";
  summary.append(el("b", "mono", p.Name), el("span", "", plural(processes, "process", "processes")), el("span", watched ? "watched" : "", watched ? `watched in ${count(watched)}` : "not watched"));
  const row = (cell, texts) => el("tr", "", ...texts.map((t, i) => el(cell, i === 1 ? "num" : cell === "td" ? "mono" : "", t)));
  const table = into.querySelector("tbody");
  table.textContent = "";
  table.append(row("th", ["Process", "Watched", "Site", "By", "File"]));
  for (const w of p.Processes) {
    const line = row("td", [`${w.Comm}/${w.PID}`, w.Watched < 0 ? "–" : count(w.Watched), w.State, w.By, w.Path]);
    Object.assign(line.dataset, { pid: w.PID, watched: w.Watched, by: w.By });
    table.append(line);
  }
  if (button) {
    button.textContent = p.Attached ? "Detach" : "Attach";
    button.setAttribute("aria-label", `${button.textContent} ${keyOf(p)}`);
    enableButton(keyOf(p));
  }
  return node;
}

function drawTree() {
  const words = $("tree-find").value.toLowerCase().split(/\s+/).filter(Boolean), by = new Map();
  let found = 0;
  for (const p of tree.data.Probes || []) {
    const text = `${keyOf(p)} ${p.Processes.map(w => `${w.Comm}/${w.PID} ${w.By} ${w.Path}`).join(" ")}`.toLowerCase();
    if (!words.every(w => text.includes(w))) continue;
    found++;
    by.set(p.Provider, [...by.get(p.Provider) || [], p]);
  }
  const nodes = [...by].sort((a, b) => a[0] < b[0] ? -1 : 1).map(([name, probes]) => {
    const node = providerNode(name), watched = probes.filter(watchedOf).length;
    node.firstChild.textContent = "";
    node.firstChild.append(el("b", "", name), el("span", "", plural(probes.length, "probe")), el("span", watched ? "watched" : "", watched ? `${count(watched)} watched` : ""));
    node.open = tree.opened.get(name) ?? (by.size <= 4 || words.length > 0);
    for (const p of probes) probeNode(p).firstChild.open = tree.opened.get(keyOf(p)) ?? false;
    keep(node.lastChild, probes.map(updateProbeNode));
    return node;
  });
  keep($("tree"), nodes);
  const all = (tree.data.Probes || []).length, processes = processesOf(tree.data.Probes || []);
  $("tree-sub").textContent = (found === all ? plural(all, "probe") : `${count(found)} of ${plural(all, "probe")}`) + ` in ${plural(processes, "process", "processes")}` + (tree.attach ? "" : " · read-only");
  $("tree-sub").dataset.found = found;
  $("tree-remark").textContent = tree.data.Remark;
  $("tree-remark").hidden = !tree.data.Remark;
}

// readTree shows the tree as it is now.
async function readTree() {
  const text = await (await ask("probes")).text();
  if (text === tree.text) return;
  tree.text = text;
  tree.data = JSON.parse(text);
  tree.attach = tree.data.Attach;
  drawTree();
}

// canChange reports whether the server would take a change of a probe.
const canChange = key => !live.ended && !live.rest && !tree.changing.has(key);

// enableButton shows whether a probe's button can be pressed. It keeps the focus if not.
function enableButton(key) {
  tree.probes.get(key).querySelector(":scope > button")?.setAttribute("aria-disabled", String(!canChange(key)));
}

// changeProbe attaches to a probe, or detaches from it.
async function changeProbe(key) {
  if (!canChange(key)) return;
  const p = tree.data.Probes.find(p => keyOf(p) === key), error = $("tree-error");
  tree.changing.add(key);
  enableButton(key);
  error.hidden = true;
  try {
    await ask("probes", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ Provider: p.Provider, Name: p.Name, Attach: !p.Attached }) });
    await readTree();
  } catch (e) {
    error.textContent = e.answered ? `${keyOf(p)}: ${e.message}` : "sdttrace does not answer.";
    error.hidden = false;
  }
  tree.changing.delete(key);
  enableButton(key);
}

// setUpTree shows the tree, if the server has one, and then what changes.
async function setUpTree() {
  if (!trace.Tree) return;
  document.documentElement.dataset.tree = "";
  part("probes", true);
  $("tree-find").addEventListener("input", () => { if (tree.data) drawTree(); });
  for (; !live.ended; await new Promise(done => setTimeout(done, tree.every))) {
    if (!live.on || document.hidden) continue;
    try {
      await readTree();
    } catch (e) {
      if (e.answered) {
        $("tree-remark").textContent = e.message;
        $("tree-remark").hidden = false;
      }
    }
  }
}
