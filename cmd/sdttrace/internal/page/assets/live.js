// Shows what a server has, and what comes: it answers a request when there is something new.

const live = { on: true, resume: null, blocks: new Map(), next: 0, tag: "", ended: false };
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

// take takes over an update. Of the blocks before it only those remain that the server keeps.
function take({ head, full, tail }) {
  trace.describe(head.Contents);
  // Of a page that has not asked for long, not even the block that grew is kept.
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
  const lines = state.sort ? 0 : before - rows.length; // of those that were above all others
  grid.top = Math.max(0, grid.top - lines);
  grid.picked = Math.max(0, grid.picked - lines);
}

function showState(error) {
  const note = $("live-note");
  document.documentElement.dataset.live = live.ended ? "ended" : error ? "away" : live.on ? "on" : "off";
  $("live-state").textContent = live.ended ? "Ended" : error ? "No answer" : live.on ? "Live" : "Paused";
  $("live-button").hidden = live.ended;
  $("live-button").firstChild.textContent = live.on ? "Pause " : "Go on ";
  note.hidden = !live.ended && !error;
  if (live.ended) note.textContent = "sdttrace has ended. This page has all that was traced, until it is closed.";
  else if (error) note.textContent = error.answered ? `sdttrace refuses: ${error.message}.` : "sdttrace does not answer: it may have been killed. This page has what came until then.";
}

function toggleLive() {
  if (live.ended) return;
  live.on = !live.on;
  if (live.on) live.resume?.();
  showState();
}

// follow shows updates until the server ends. Each waits until the one before is drawn.
async function follow() {
  for (let error; !live.ended;) {
    if (!live.on) await new Promise(resume => live.resume = resume);
    try {
      const response = await ask(`update?tab=${tab}&blocks=${live.next}&tag=${encodeURIComponent(live.tag)}`);
      if (error) showState(error = null);
      if (response.status === 204) continue;
      const news = await decodeUpdate(new Uint8Array(await response.arrayBuffer()));
      if (!live.on && !news.head.Ended) continue; // it is asked for again
      take(news);
    } catch (e) {
      showState(error = e);
      await new Promise(done => setTimeout(done, 1000));
      continue;
    }
    update();
    await refilter(true);
    showState();
  }
}

async function show() {
  readTheme();
  trace = new Trace();
  take(await decodeUpdate(new Uint8Array(await (await ask(`update?tab=${tab}`)).arrayBuffer())));
  $("live").hidden = $("live-keys").hidden = false;
  $("live-button").addEventListener("click", toggleLive);
  document.addEventListener("keydown", e => {
    if (e.key === "p" && !e.ctrlKey && !e.metaKey && !e.altKey && !$("help").open && !/INPUT|SELECT|TEXTAREA/.test(e.target.tagName)) toggleLive();
  });
  showState();
  setUpTree();
  await start();
  grid.top = maxTop(); // the newest events, and those that follow
  drawRows();
  await follow();
}

show().catch(fail);
