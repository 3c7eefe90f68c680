// Shows what a server has, and what comes: it answers a request when there is something new.

// rest is what a page that pauses has not shown when the server ended; stale, that a page that
// nobody sees has not drawn what came; asking, how to give up the request that waits.
const live = { on: true, resume: null, asking: null, rest: false, stale: false, blocks: new Map(), next: 0, tag: "", ended: false };
const token = new URLSearchParams(location.search).get("token") || "";
const tab = crypto.getRandomValues(new Uint32Array(2)).join("-");

// ask sends a request, and fails with what the server says.
async function ask(path, options = {}) {
  const response = await fetch(path, { ...options, cache: "no-store", headers: { ...options.headers, "Sdttrace-Token": token } });
  if (!response.ok) throw Object.assign(new Error((await response.text()).trim()), { answered: true });
  return response;
}

// decodeUpdate returns an update's head, the full blocks that are new, and the one that grows.
async function decodeUpdate(bytes) {
  const size = new DataView(bytes.buffer).getUint32(0, true), head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  let at = 4 + size;
  const full = [];
  for (const n of head.Blocks || []) full.push(await unpack(bytes.slice(at, at += n)));
  return { head, full, tail: head.Tail ? bytes.slice(at) : null };
}

// take takes over an update. Only blocks that the server keeps remain before it.
function take({ head, full, tail }) {
  trace.describe(head.Contents);
  // A page that has not asked for long does not even keep the block that grew.
  let gone = head.First > live.next ? trace.length : 0;
  for (const [number, block] of live.blocks) if (number < head.First) {
    if (head.First <= live.next) gone += block.rows;
    live.blocks.delete(number);
  }
  let next = Math.max(head.First, live.next);
  for (const bytes of full) live.blocks.set(next++, decodeBlock(bytes, trace.first));
  live.next = next;
  trace.hold([...live.blocks.values(), ...(tail ? [decodeBlock(tail, trace.first)] : [])]);
  forget(gone);
  live.tag = head.Tag;
  live.ended = head.Ended;
}

// forget gives the events in the table the numbers that they have without the first ones.
function forget(gone) {
  if (!gone) return;
  const before = rows.length;
  rows = rows.filter(i => i >= gone).map(i => i - gone);
  const lines = state.sort ? 0 : before - rows.length; // of the events that were above all others
  grid.top = Math.max(0, grid.top - lines);
  grid.picked = Math.max(0, grid.picked - lines);
}

function showState(error) {
  const note = $("live-note"), over = live.ended || live.rest;
  document.documentElement.dataset.live = live.ended ? "ended" : live.rest ? "rest" : error ? "away" : live.on ? "on" : "off";
  const state = over ? "Ended" : error ? "No answer" : live.on ? "Live" : "Paused";
  if ($("live-state").textContent !== state) $("live-state").textContent = state; // what is said aloud
  $("live-button").hidden = live.ended;
  if ($("downloads")) $("downloads").hidden = live.ended;
  $("live-button").firstChild.textContent = live.rest ? "Show the rest " : live.on ? "Pause " : "Go on ";
  note.hidden = !over && !error;
  let text = "";
  if (live.ended) text = "sdttrace has ended. This page has all that was traced, until it is closed.";
  else if (live.rest) text = "sdttrace has ended while this page paused. Events that came meanwhile are here: “Show the rest” shows them.";
  else if (error) text = error.answered ? `sdttrace refuses: ${error.message}.` : "sdttrace does not answer: it may have been killed. This page has what came until then.";
  if (note.textContent !== text) note.textContent = text;
  if (over) for (const key of tree.probes.keys()) enableButton(key);
}

function toggleLive() {
  if (live.ended) return;
  live.on = !live.on;
  live.asking?.abort(); // it waits for something else
  if (live.on) live.resume?.();
  showState();
}

// nextUpdate returns what is new, undefined if nothing is. A page that pauses waits for the end;
// behind an error, nothing is waited for.
async function nextUpdate(error) {
  const pausing = !live.on;
  live.asking = Object.assign(new AbortController(), { pausing });
  const response = await ask(`update?tab=${tab}&blocks=${live.next}&tag=${encodeURIComponent(live.tag)}${pausing ? "&until=end" : ""}${error ? "&back=1" : ""}`, { signal: live.asking.signal });
  live.asking = null;
  if (response.status !== 204) return decodeUpdate(new Uint8Array(await response.arrayBuffer()));
}

// follow shows updates until the server ends. Each waits until the one before is drawn.
async function follow() {
  for (let error; !live.ended;) {
    let news;
    try {
      news = await nextUpdate(error);
      if (error) showState(error = null);
    } catch (e) {
      if (e.name === "AbortError") continue; // the page pauses, or goes on
      showState(error = e);
      await new Promise(done => setTimeout(done, 1000));
      continue;
    }
    if (!news) continue;
    if (!live.on) {
      if (!news.head.Ended) continue; // it is asked for again
      if (news.head.Contents.Total > trace.Total) {
        live.rest = true;
        showState();
        await new Promise(resume => live.resume = resume);
      }
    }
    take(news);
    await drawNews();
  }
}

// drawNews draws what was taken over, once somebody can see it.
async function drawNews() {
  live.stale = document.hidden;
  if (live.stale) filtering++; // the one that runs does so on events that may be gone
  else {
    update();
    await refilter(true);
  }
  showState();
}

// offerDownloads adds a button for each file that the server makes of the events that the page shows.
function offerDownloads() {
  const menu = document.createElement("span");
  menu.id = "downloads";
  menu.append("Save as ");
  for (const [ending, name] of [["usdt", "recording"], ["pftrace", "timeline"], ["pb.gz", "profile"], ["folded", "folded stacks"]]) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
    button.addEventListener("click", () => download(ending, button));
    menu.append(button, " ");
  }
  $("live").append(" ", menu);
}

// download has the server make a file, and gives it to the browser.
async function download(ending, pressed) {
  const buttons = $("downloads").querySelectorAll("button"), name = pressed.textContent;
  for (const b of buttons) b.disabled = true;
  pressed.textContent = `${name} …`;
  try {
    const url = URL.createObjectURL(await (await ask(`download?as=${ending}`)).blob());
    Object.assign(document.createElement("a"), { href: url, download: `trace.${ending}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
    pressed.title = "";
  } catch (e) {
    pressed.title = e.message;
    $("live-note").hidden = false;
    $("live-note").textContent = `No ${name}: ${e.message}.`;
  }
  pressed.textContent = name;
  for (const b of buttons) b.disabled = false;
}

async function show() {
  readTheme();
  trace = new Trace();
  take(await decodeUpdate(new Uint8Array(await (await ask(`update?tab=${tab}`)).arrayBuffer())));
  $("live").hidden = $("live-keys").hidden = false;
  $("live-button").addEventListener("click", toggleLive);
  if (!trace.Tree) offerDownloads();
  document.addEventListener("keydown", e => {
    if (e.key === "p" && !e.ctrlKey && !e.metaKey && !e.altKey && !$("help").open && !/INPUT|SELECT|TEXTAREA/.test(e.target.tagName)) toggleLive();
  });
  document.addEventListener("visibilitychange", () => { if (live.stale && !document.hidden) drawNews(); });
  showState();
  setUpTree();
  await start();
  grid.top = maxTop(); // the newest events, and later ones
  drawRows();
  await follow();
}

show().catch(fail);
