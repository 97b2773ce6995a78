// Ten calls by a client of the TypeScript SDK.
//
//   node ten_calls.mjs PACKAGES 1|2 --url URL --token TOKEN
//   node ten_calls.mjs PACKAGES 1|2 --command PROGRAM ARGUMENTS...
//
// PACKAGES is a folder with node_modules. 1 is @modelcontextprotocol/sdk, 2 is
// @modelcontextprotocol/client. Prints one line of JSON; fails with what was not as expected.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [packages, generation, kind, ...rest] = process.argv.slice(2);

async function load(path) {
  return await import(pathToFileURL(`${packages}/node_modules/@modelcontextprotocol/${path}`));
}

const parts =
  generation === "1"
    ? {
        ...(await load("sdk/dist/esm/client/index.js")),
        ...(await load("sdk/dist/esm/client/streamableHttp.js")),
        ...(await load("sdk/dist/esm/client/stdio.js")),
      }
    : { ...(await load("client/dist/index.mjs")), ...(await load("client/dist/stdio.mjs")) };

function transport() {
  if (kind === "--command") {
    const [command, ...args] = rest;
    return new parts.StdioClientTransport({ command, args, stderr: "inherit" });
  }
  const [url, , token] = rest;
  const headers = { Authorization: `Bearer ${token}` };
  return new parts.StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
}

const options = generation === "1" ? {} : { versionNegotiation: { mode: "auto" } };
const client = new parts.Client({ name: "ten-calls", version: "1" }, options);
const connection = transport();
await client.connect(connection);

const { tools } = await client.listTools();
assert(tools.some((it) => it.name === "create_node"), "create_node is listed");
const { resources } = await client.listResources();
assert(resources.some((it) => it.uri === "godot://scene/tree"), "the scene's tree is listed");
const { prompts } = await client.listPrompts();
assert(prompts.some((it) => it.name === "build_scene"), "build_scene is listed");

const steps = JSON.parse(readFileSync(new URL("steps.json", import.meta.url)));
for (const step of steps) {
  const result = await client.callTool({ name: step.tool, arguments: step.args });
  const answer = result.structuredContent ?? {};
  const found = `${step.tool}: ${JSON.stringify(result)}`;
  assert.equal(result.isError ?? false, step.error !== undefined, found);
  const expected = step.error === undefined ? step.expect : { error: step.error };
  for (const [name, value] of Object.entries(expected)) {
    assert.deepEqual(answer[name], value, found);
  }
}

const read = await client.readResource({ uri: "godot://scene/tree" });
assert(read.contents[0].text.includes('"Cap"'), "the tree has the new node");
const prompt = await client.getPrompt({ name: "troubleshoot", arguments: { problem: "none" } });
assert(prompt.messages[0].content.text.includes("health_check"), "a prompt's text");
const completed = await client.complete({
  ref: { type: "ref/resource", uri: "godot://scene/{path}" },
  argument: { name: "path", value: "probes/ma" },
});
assert.deepEqual(completed.completion.values, ["probes/main.tscn"]);

// The first generation tells only its transport.
const protocol = client.getNegotiatedProtocolVersion?.() ?? connection.protocolVersion ?? null;
console.log(JSON.stringify({ calls: steps.length, tools: tools.length, protocol }));
await client.close();
