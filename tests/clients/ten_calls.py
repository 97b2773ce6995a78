"""Ten calls by the client of the Python SDK.

    python ten_calls.py legacy|auto --url URL --token TOKEN
    python ten_calls.py legacy|auto --command PROGRAM ARGUMENTS...

`legacy` opens a session, `auto` speaks the newest version that both know. Prints one line of JSON;
fails with what was not as expected.
"""

import asyncio
import json
import pathlib
import sys

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import PromptReference, ResourceTemplateReference


def check(holds, text):
    if not holds:
        raise SystemExit(f"not as expected: {text}")


def server(kind, rest):
    if kind == "--command":
        return StdioServerParameters(command=rest[0], args=rest[1:])
    url, _, token = rest
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    return streamable_http_client(url, http_client=http)


async def main():
    mode, kind, *rest = sys.argv[1:]
    steps = json.loads(pathlib.Path(__file__).with_name("steps.json").read_text())
    async with Client(server(kind, rest), mode=mode) as client:
        tools = (await client.list_tools()).tools
        check(any(it.name == "create_node" for it in tools), "create_node is listed")
        resources = (await client.list_resources()).resources
        check(any(str(it.uri) == "godot://scene/tree" for it in resources), "the tree is listed")
        prompts = (await client.list_prompts()).prompts
        check(any(it.name == "build_scene" for it in prompts), "build_scene is listed")
        for step in steps:
            result = await client.call_tool(step["tool"], step["args"])
            answer = result.structured_content or {}
            error = step.get("error")
            check(bool(result.is_error) == (error is not None), f"{step['tool']}: {result}")
            expected = step["expect"] if error is None else {"error": error}
            for name, value in expected.items():
                check(answer.get(name) == value, f"{step['tool']}: {answer}")
        read = await client.read_resource("godot://scene/tree")
        check('"Cap"' in read.contents[0].text, "the tree has the new node")
        prompt = await client.get_prompt("troubleshoot", {"problem": "none"})
        check("health_check" in prompt.messages[0].content.text, "a prompt's text")
        completed = await client.complete(
            ResourceTemplateReference(type="ref/resource", uri="godot://scene/{path}"),
            {"name": "path", "value": "probes/ma"},
        )
        check(completed.completion.values == ["probes/main.tscn"], completed)
        completed = await client.complete(
            PromptReference(type="ref/prompt", name="troubleshoot"),
            {"name": "toolset", "value": "insp"},
        )
        check(completed.completion.values == ["inspection"], completed)
        about = {"calls": len(steps), "tools": len(tools)}
        print(json.dumps(about | {"protocol": client.protocol_version}))


asyncio.run(main())
