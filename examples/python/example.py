"""Asks the agent one thing, lends it a tool, and prints the answer as it comes.

    python3 example.py "What time is it?" --model anthropic/claude-sonnet-4-5
"""

import os
import sys
import threading
import time

from pi_client import HostTool, PiClient

clock = HostTool(
    name="clock",
    description="The time on the user's machine",
    parameters={"type": "object", "properties": {}},
    run=lambda arguments, context: time.strftime("%H:%M"),
)


def main() -> None:
    question, *options = sys.argv[1:] or ["What time is it?"]
    # PI names the program; without it, `pi` is looked up in the PATH.
    command = ["node", os.environ["PI"]] if "PI" in os.environ else ["pi"]
    with PiClient(command=command, args=["--no-session", *options], host_tools=[clock]) as pi:
        with pi.events() as events:
            threading.Thread(target=show, args=(events,), daemon=True).start()
            result = pi.prompt_and_wait(question)
        print()
        if result.error:
            sys.exit(result.error)


def show(events) -> None:
    for event in events:
        if event["type"] == "tool_execution_start":
            print(f"[{event['toolName']}]", flush=True)
        if event["type"] == "message_update" and event["assistantMessageEvent"]["type"] == "text_delta":
            print(event["assistantMessageEvent"]["delta"], end="", flush=True)


if __name__ == "__main__":
    main()
