"""Runs scenario.json and prints what happened as JSON:

    python3 scenario.py ../scenario.json /path/to/pi.cjs [options of the program]
"""

import json
import os
import sys
import tempfile

from pi_client import HostTool, PiClient, PiError


def main() -> None:
    file, program, *args = sys.argv[1:]
    with open(file, encoding="utf-8") as text:
        scenario = json.load(text)
    with tempfile.TemporaryDirectory(prefix="pi-scenario-") as cwd:
        for name, content in scenario["files"].items():
            with open(os.path.join(cwd, name), "w", encoding="utf-8") as out:
                out.write(content)
        script = os.path.join(cwd, ".script.json")
        with open(script, "w", encoding="utf-8") as out:
            json.dump(scenario["script"], out)
        extension = os.path.join(os.path.dirname(os.path.abspath(file)), scenario["extension"])
        dialogs = scenario["dialogs"]
        with PiClient(
            command=["node", os.path.abspath(program)],
            args=["--model", f"scripted/{script}", "-e", extension, "--no-session", *args],
            cwd=cwd,
            host_tools=[host_tool(tool) for tool in scenario["hostTools"]],
            dialogs={method: lambda request: dialogs.get(request["method"]) for method in ("select", "confirm", "input", "editor")},
        ) as pi:
            print(json.dumps([run(pi, step) for step in scenario["steps"]]))


def host_tool(tool) -> HostTool:
    def price(arguments, context) -> str:
        drink = arguments["drink"]
        if drink not in tool["answers"]:
            raise LookupError(f"Nobody sells {drink}.")
        return tool["answers"][drink]

    return HostTool(tool["name"], tool["description"], tool["parameters"], price)


def run(pi: PiClient, step):
    return prompt(pi, step["prompt"]) if "prompt" in step else call(pi, step)


def call(pi: PiClient, step):
    try:
        data = pi.call(step["call"], **step.get("params", {}))
    except PiError as error:
        return {"error": str(error)}
    return {"data": {name: data.get(name) for name in step["pick"]} if "pick" in step else None}


def prompt(pi: PiClient, message: str):
    events, streamed, notices, tools, partial = [], "", [], [], None
    with pi.events() as seen:
        result = pi.prompt_and_wait(message)
        seen.close()
        for event in seen:
            kind = event["type"]
            if not events or events[-1] != kind:
                events.append(kind)
            if kind == "message_update":
                partial = event["message"]["content"]
                if event["assistantMessageEvent"]["type"] == "text_delta":
                    streamed += event["assistantMessageEvent"]["delta"]
            elif kind == "tool_execution_end":
                content = event["result"]["content"]
                tools.append([event["toolName"], event["isError"], content[0]["text"] if content else None])
            elif kind == "extension_ui_request" and event["method"] == "notify":
                notices.append(event["message"])
    return {
        "text": result.text,
        "error": result.error,
        "roles": [one["role"] for one in result.messages],
        "partial": partial,
        "events": events,
        "streamed": streamed,
        "notices": notices,
        "tools": tools,
    }


if __name__ == "__main__":
    main()
