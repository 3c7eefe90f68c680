// Shows what the page holds: a page of its own, in a file.

function bytesOf(element) {
  const text = element.textContent;
  element.remove();
  return Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), c => c.charCodeAt(0));
}

async function show() {
  readTheme();
  trace = new Trace();
  trace.describe(JSON.parse(new TextDecoder().decode(await unpack(bytesOf(document.querySelector(".contents"))))));
  const elements = [...document.querySelectorAll("script.events")], blocks = [];
  for (const [i, e] of elements.entries()) {
    $("loading").textContent = `Reading events … ${Math.round(100 * i / elements.length)} %`;
    blocks.push(decodeBlock(await unpack(bytesOf(e)), trace.first));
  }
  trace.hold(blocks);
  await start();
}

show().catch(fail);
